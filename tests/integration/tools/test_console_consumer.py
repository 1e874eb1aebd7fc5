"""kafka-console-consumer with our broker: what is there is printed, and it ends as Kafka's ends."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from tests.integration.tools.programs import Ran, run, run_inside, start
from tests.patience import PATIENCE

from barnabas.testing import Broker


@pytest.fixture(scope="module")
def letters(barnabas_broker: Broker) -> Iterator[str]:
    """A topic of three records: a, b and c, with keys 1, 2 and 3, and a header."""
    name = f"letters-{os.urandom(4).hex()}"
    barnabas_broker.create_topic(name)
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})
    for number, letter in enumerate("abc", 1):
        producer.produce(
            name, letter, str(number), headers={"h": letter.upper()}, timestamp=1_700_000_000_000
        )
    assert producer.flush(10) == 0
    yield name
    barnabas_broker.delete_topic(name)


@pytest.fixture
def group() -> str:
    return f"group-{os.urandom(4).hex()}"


def _consume(broker: Broker, *arguments: str) -> Ran:
    servers = ("--bootstrap-server", broker.bootstrap_servers)
    return run_inside("kafka-console-consumer", *servers, *arguments)


def test_from_the_beginning_until_enough_is_read(barnabas_broker: Broker, letters: str) -> None:
    ran = _consume(barnabas_broker, "--topic", letters, "--from-beginning", "--max-messages", "3")
    assert (ran.stdout, ran.stderr, ran.code) == ("a\nb\nc\n", "Processed a total of 3 messages\n", 0)


def test_a_silence_ends_it_with_kafkas_lines(barnabas_broker: Broker, letters: str) -> None:
    ran = _consume(barnabas_broker, "--topic", letters, "--partition", "0", "--timeout-ms", "300")
    first, *rest = ran.stderr.splitlines()
    assert re.fullmatch(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ERROR Error processing message, "
        r"terminating consumer process:  \(org.apache.kafka.tools.consumer.ConsoleConsumer\)",
        first,
    )
    assert rest == ["org.apache.kafka.common.errors.TimeoutException", "Processed a total of 0 messages"]
    assert (ran.stdout, ran.code) == ("", 0)


@pytest.mark.parametrize(
    ("offset", "text"), [("earliest", "a\nb\nc\n"), ("1", "b\nc\n"), ("2", "c\n"), ("LATEST", "")]
)
def test_one_partition_from_an_offset(barnabas_broker: Broker, letters: str, offset: str, text: str) -> None:
    where = ("--topic", letters, "--partition", "0", "--offset", offset)
    ran = _consume(barnabas_broker, *where, "--timeout-ms", "3000")
    assert ran.stdout == text


def test_everything_about_a_record_can_be_printed(barnabas_broker: Broker, letters: str) -> None:
    flags = []
    for name in ("timestamp", "partition", "offset", "epoch", "headers", "key"):
        flags += ["--formatter-property", f"print.{name}=true"]
    ran = _consume(
        barnabas_broker,
        "--topic",
        letters,
        "--partition",
        "0",
        "--offset",
        "1",
        "--max-messages",
        "1",
        *flags,
    )
    assert ran.stdout == "CreateTime:1700000000000\tPartition:0\tOffset:1\tEpoch:NOT_PRESENT\th:B\t2\tb\n"


def test_the_old_name_of_the_formatters_flag_is_warned_about_on_stdout(
    barnabas_broker: Broker, letters: str
) -> None:
    where = ("--topic", letters, "--partition", "0", "--offset", "earliest", "--max-messages", "1")
    ran = _consume(barnabas_broker, *where, "--property", "print.key=true")
    assert ran.stdout == (
        "Option --property is deprecated and will be removed in a future version. "
        "Use --formatter-property instead.\n1\ta\n"
    )


def test_a_group_commits_what_was_printed_and_no_more(
    barnabas_broker: Broker, letters: str, group: str
) -> None:
    arguments = ("--topic", letters, "--group", group, "--from-beginning", "--max-messages")
    assert _consume(barnabas_broker, *arguments, "2").stdout == "a\nb\n"
    assert _consume(barnabas_broker, *arguments, "1").stdout == "c\n"


def test_a_nameless_group_leaves_no_offsets(barnabas_broker: Broker, letters: str) -> None:
    arguments = ("--topic", letters, "--from-beginning", "--max-messages", "1")
    assert _consume(barnabas_broker, *arguments).stdout == "a\n"
    assert _consume(barnabas_broker, *arguments).stdout == "a\n"


@pytest.mark.parametrize("flag", ["--include", "--whitelist"])
def test_topics_by_a_regular_expression(barnabas_broker: Broker, letters: str, flag: str) -> None:
    pattern = f"nothing|{letters[:-1]}."
    ran = _consume(barnabas_broker, flag, pattern, "--from-beginning", "--max-messages", "3")
    assert ran.stdout == "a\nb\nc\n"


def test_invalid_regular_expression_is_reported(barnabas_broker: Broker) -> None:
    ran = _consume(barnabas_broker, "--include", "[", "--timeout-ms", "100")
    assert (ran.stdout, ran.stderr, ran.code) == ("", "[ is an invalid regex.\n", 1)


@pytest.mark.parametrize("skips", [False, True])
def test_a_record_of_another_type_is_an_error_or_skipped(
    barnabas_broker: Broker, letters: str, skips: bool
) -> None:
    where = ("--topic", letters, "--partition", "0", "--offset", "earliest", "--max-messages", "2")
    reader = ("--value-deserializer", "org.apache.kafka.common.serialization.LongDeserializer")
    ran = _consume(barnabas_broker, *where, *reader, *(["--skip-message-on-error"] if skips else []))
    assert ran.code == (0 if skips else 1)
    assert ran.stdout == ""
    assert ("Processed a total of 2 messages" if skips else "Processed a total of 1 messages") in ran.stderr
    assert "SerializationException: Size of data received by LongDeserializer is not 8" in ran.stderr


def test_committed_offsets_can_be_looked_at(barnabas_broker: Broker, letters: str, group: str) -> None:
    _consume(barnabas_broker, "--topic", letters, "--group", group, "--from-beginning", "--max-messages", "2")
    formatter = ("--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    where = ("--topic", "__consumer_offsets", "--partition", "0", "--offset", "earliest")
    ran = _consume(barnabas_broker, *where, "--timeout-ms", "4000", *formatter)
    found = re.findall(rf'{{"key":{{"type":1,"data":{{"group":"{group}",.*?}}}}}}', ran.stdout)
    assert f'"topic":"{letters}","partition":0}}}},"value":{{"version":4,"data":{{"offset":2,' in found[-1]


def test_ctrl_c_ends_with_the_count(barnabas_broker: Broker, letters: str) -> None:
    servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
    arguments = (*servers, "--topic", letters, "--from-beginning", "--enable-systest-events")
    with start("kafka-console-consumer", *arguments) as running:
        running.wait_for_line("c")
        ran = running.interrupt()
    assert ran.code == 128 + signal.SIGINT
    assert ran.stderr == "Processed a total of 3 messages\n"
    assert ran.stdout == "a\nb\nc\nshutdown_complete\n"


def test_a_closed_pipe_ends_the_consumer(barnabas_broker: Broker, letters: str) -> None:
    program = "import sys; from barnabas.cli.kafka.console_consumer import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["--bootstrap-server", barnabas_broker.bootstrap_servers, "--topic", letters]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments, "--from-beginning"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    printed = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(PATIENCE) == 0
    assert printed.splitlines()[0] == "Unable to write to standard out, closing consumer."


def test_a_topic_that_comes_later_is_read(barnabas_broker: Broker, group: str) -> None:
    name = f"later-{os.urandom(4).hex()}"
    servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
    without = ("--command-property", "allow.auto.create.topics=false")
    arguments = (*servers, "--topic", name, "--group", group, "--from-beginning", "--max-messages", "1")
    with start("kafka-console-consumer", *arguments, *without) as running:
        sent = run("kafka-console-producer", *servers, "--topic", name, stdin="late\n")
        assert sent.code == 0
        assert running.wait_for_line() == "late"
        assert running.wait().code == 0
    barnabas_broker.delete_topic(name)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (["--topic", "LETTERS", "--partition", "7"], "Topic LETTERS has no partition 7\n"),
        (
            ["--topic", "no such topic", "--timeout-ms", "100"],
            "The request attempted to perform an operation on an invalid topic.\n",
        ),
    ],
)
def test_unreadable_topic_is_reported(
    barnabas_broker: Broker, letters: str, where: list[str], message: str
) -> None:
    ran = _consume(barnabas_broker, *(word.replace("LETTERS", letters) for word in where))
    assert ran.stderr == message.replace("LETTERS", letters)
    assert ran.code == 1


def test_unreachable_broker_is_reported_in_seconds() -> None:
    servers = ("--bootstrap-server", "127.0.0.1:1")
    ran = run_inside("kafka-console-consumer", *servers, "--topic", "t")
    assert ran.stderr == "No broker answers (127.0.0.1:1: connection refused). Is it running?\n"
    assert ran.code == 1


_HERE = ["--bootstrap-server", "127.0.0.1:1", "--topic", "t"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (_HERE[:2], "Exactly one of the following arguments is required: [topic], [include]"),
        (
            [*_HERE, "--include", "x"],
            "Exactly one of the following arguments is required: [topic], [include]",
        ),
        (_HERE[2:], 'Missing required argument "[bootstrap-server]"'),
        ([*_HERE, "--offset", "1"], "The partition is required when offset is specified."),
        (
            [*_HERE[:2], "--include", "x", "--partition", "1"],
            "The topic is required when partition is specified.",
        ),
        (
            [*_HERE, "--partition", "1", "--offset", "1", "--from-beginning"],
            "Options from-beginning and offset cannot be specified together.",
        ),
        (
            [*_HERE, "--partition", "1", "--offset", "-3"],
            (
                "The provided offset value '-3' is incorrect. Valid values are "
                "'earliest', 'latest', or a non-negative long."
            ),
        ),
        (
            [*_HERE, "--partition", "1", "--group", "g"],
            "Options group and partition cannot be specified together.",
        ),
        (
            [*_HERE, "--group", "a", "--command-property", "group.id=b"],
            (
                "The group ids provided in different places (directly using '--group', "
                "via '--consumer-property', or via '--consumer.config') do not match. "
                "Detected group ids: 'a', 'b'"
            ),
        ),
        (
            [*_HERE, "--property", "a=b", "--formatter-property", "c=d"],
            "Options --property and --formatter-property cannot be specified together.",
        ),
        ([*_HERE, "--formatter", "com.example.Pretty"], "com.example.Pretty"),
        (
            [*_HERE, "--from-beginning", "--command-property", "auto.offset.reset=latest"],
            (
                "Can't simultaneously specify --from-beginning and 'auto.offset.reset=latest', "
                "please remove one option"
            ),
        ),
    ],
)
def test_a_wrong_command_line_is_reported_with_kafkas_text(arguments: list[str], message: str) -> None:
    ran = run_inside("kafka-console-consumer", *arguments)
    assert ran.code == 1
    assert ran.stderr.splitlines()[0] == message
