"""`kafka-consumer-groups` without a broker: wrong options, regular expressions, help."""

import pytest

from barnabas.cli.kafka.consumer_groups import main

_SERVER = ["--bootstrap-server", "localhost:9092"]
_WARNING = "WARN: No action will be performed as the --execute option is missing."


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--list", 'Missing required argument "[bootstrap-server]"'),
        (
            "S --group g",
            "Command must include exactly one action: --list, --describe, --delete, ",
        ),
        ("S --list --delete --all-groups", "Command must include exactly one action"),
        ("S --describe", "Option [describe] takes one of these options: [group], [all-groups]"),
        (
            "S --describe --group g --members --state",
            "Option [describe] takes at most one of these options: [members], [offsets], [state]",
        ),
        ("S --describe --group g --state Stable", "Option [describe] does not take a value for [state]"),
        ("S --list --members", "Option(s) [members] are unavailable given other options on the command line"),
        ("S --delete --group g --verbose", "Option(s) [verbose] are unavailable"),
        ("S --describe --group g --type", "Option(s) [type] are unavailable"),
        ("S --delete", "Option [delete] takes one of these options: [group], [all-groups]"),
        ("S --delete --group g --topic t", "does not support topic-specific offset deletion"),
        (
            "S --delete-offsets --group g",
            "Option [delete-offsets] takes the following options: [group], ",
        ),
        ("S --list --group g", 'Option "[group]" can\'t be used with option "[list]"'),
        ("S --describe --group g --all-groups", 'Option "[group]" can\'t be used with option "[all-groups]"'),
        ("S --describe --group g --topic t", 'Option "[topic]" can\'t be used with option "[describe]"'),
        (
            "S --reset-offsets --dry-run",
            "Option [reset-offsets] takes one of these options: [group]",
        ),
        (
            "S --reset-offsets --group g --dry-run --execute",
            "Option [reset-offsets] only accepts one of [execute] and [dry-run]",
        ),
        (
            "S --reset-offsets --group g --dry-run --to-latest --shift-by 1",
            'Option "[to-latest]" can\'t be used with option "[shift-by]"',
        ),
        (
            "S --reset-offsets --group g --dry-run --from-file f --shift-by 1",
            'Option "[shift-by]" can\'t be used with option "[from-file]"',
        ),
        ("S --reset-offsets --group g --to-offset x", "Cannot parse argument 'x' of option to-offset"),
    ],
)
def test_wrong_options_are_reported_with_kafkas_text(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [each for word in words.split() for each in (_SERVER if word == "S" else [word])]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message) or message in printed.err.splitlines()[0]
    assert printed.err.endswith("Try 'kafka-consumer-groups --help'.\n")


def test_reset_without_execute_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    main([*_SERVER, "--reset-offsets"])
    assert capsys.readouterr().err.startswith(_WARNING)


@pytest.mark.parametrize(
    ("regex", "verdict"),
    [
        ("a.*", "is valid."),
        ("[a", "is invalid: missing closing ]."),
        ("(a", "is invalid: missing closing )."),
        ("*", "is invalid: missing argument to repetition operator."),
        ("(?=a)", "is invalid: invalid or unsupported Perl syntax."),
        ("[z-a]", "is invalid: invalid character class range."),
    ],
)
def test_regular_expression_is_judged_as_kafka_judges_it(
    regex: str, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--validate-regex", regex]) == 0
    assert capsys.readouterr().out == f"The regular expression `{regex}` {verdict}\n"


def test_unreachable_broker_is_reported_in_one_line_after_kafkas_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--bootstrap-server", "127.0.0.1:1", "--list"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("\nError: Executing consumer group command failed due to No broker answers")
    assert printed.out.count("\n") == 2
    assert printed.err == ""


def test_help_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    for name in ("reset-offsets", "by-duration", "delete-offsets", "validate-regex", "all-groups", "export"):
        assert f"--{name}" in listed
