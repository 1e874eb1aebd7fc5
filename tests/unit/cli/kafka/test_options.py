import pytest

from barnabas.cli.kafka.options import Options, UsageError, integer


def _options() -> Options:
    options = Options("kafka-thing", "Does things.")
    options.option("topic", "The topic.")
    options.option("time", "A time.", kind=int, default=-1, value="timestamp")
    options.option("config", "A setting.", repeated=True)
    options.option("command-config", "A file.", deprecated=["consumer.config"])
    options.option("state", "States.", optional_value=True)
    options.flag("list", "List.", aliases=["l"])
    return options


def test_values_come_after_a_blank_or_an_equal_sign() -> None:
    given = _options().parse(["--topic", "a", "--time=5", "--list"])
    assert (given.topic, given.time, given.list) == ("a", 5, True)
    assert given.has("topic")
    assert not given.has("config")


def test_value_may_begin_with_a_dash() -> None:
    given = _options().parse(["--time", "-2", "--topic", "--a"])
    assert (given.time, given.topic) == (-2, "--a")


def test_defaults_stand_without_being_given() -> None:
    given = _options().parse([])
    assert (given.time, given.topic, given.config, given.list) == (-1, None, [], False)
    assert not given.has("time")


def test_repeated_options_are_a_list() -> None:
    assert _options().parse(["--config", "a=1", "--config=b=2"]).config == ["a=1", "b=2"]


def test_words_that_are_no_options_are_kept() -> None:
    assert _options().parse(["describe", "--list", "--", "--topic"]).words == ["describe", "--topic"]


def test_option_may_have_no_value_where_it_may() -> None:
    options = _options()
    assert options.parse(["--state"]).state == ""
    assert options.parse(["--state", "--list"]).state == ""
    assert options.parse(["--state", "Stable"]).state == "Stable"


def test_other_names_are_the_same_option() -> None:
    assert _options().parse(["-l"]).list


def test_one_dash_is_enough() -> None:
    assert _options().parse(["-topic", "a", "-time=5"]).topic == "a"


def test_old_name_is_taken_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    given = _options().parse(["--consumer.config", "f"])
    assert given.command_config == "f"
    assert given.has("command-config")
    assert capsys.readouterr().err == (
        "Option --consumer.config is deprecated and will be removed in a future version. "
        "Use --command-config instead.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense"], "nonsense is not a recognized option"),
        (["-t", "a"], "t is not a recognized option"),
        (["--top", "a"], "top is not a recognized option"),
        (["--topic"], "Option topic requires an argument"),
        (["--topic", "--list"], "Option topic requires an argument"),
        (
            ["--topic", "a", "--topic", "b"],
            "Found multiple arguments for option topic, but you asked for only one",
        ),
        (["--time", "soon"], "Cannot parse argument 'soon' of option time"),
        (["--list=yes"], "Option list does not take an argument"),
    ],
)
def test_wrong_command_line_is_reported_with_kafkas_text(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        _options().parse(arguments)
    assert str(error.value) == message


def test_checks_between_options() -> None:
    options = _options()
    given = options.parse(["--topic", "a", "--list"])
    options.require(given, "topic")
    options.require_one_of(given, "topic", "config")
    options.forbid(given, "topic", "config")
    with pytest.raises(UsageError, match=r'Missing required argument "\[config\]"'):
        options.require(given, "config")
    with pytest.raises(UsageError, match=r"Exactly one of .* required: \[topic\], \[list\]"):
        options.require_one_of(given, "topic", "list")
    with pytest.raises(UsageError, match=r'Option "\[topic\]" can\'t be used with option "\[list\]"'):
        options.forbid(given, "topic", "list")


def test_help_lists_every_option_once_and_by_name() -> None:
    lines = _options().help().splitlines()
    assert lines[0] == "Does things."
    names = [line.split()[0] for line in lines if line.startswith("--")]
    assert names == sorted(names)
    assert names.count("--command-config") == 1
    assert "--consumer.config" not in names
    assert any("<timestamp>" in line and "(default: -1)" in line for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("text", ["1_0", " 1", "1.0", "\u0661", "9223372036854775808", "", "+-1"])
def test_number_is_read_as_java_reads_a_long(text: str) -> None:
    with pytest.raises(UsageError, match=r"^Cannot parse argument '.*' of option time$"):
        _options().parse([f"--time={text}"])
    assert _options().parse(["--time", "+9223372036854775807"]).time == 2**63 - 1


def test_int_is_smaller_than_a_long() -> None:
    options = Options("kafka-thing", "Does things.")
    options.option("partitions", "How many.", kind=integer)
    assert options.parse(["--partitions", "2147483647"]).partitions == 2**31 - 1
    with pytest.raises(UsageError, match=r"^Cannot parse argument '2147483648' of option partitions$"):
        options.parse(["--partitions", "2147483648"])
