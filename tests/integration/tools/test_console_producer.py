"""kafka-console-producer with our broker: records arrive, and errors are reported."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from tests.integration.tools.programs import Ran, run_inside, start
from tests.patience import PATIENCE, PROGRAM_PATIENCE

from barnabas.testing import Broker

_QUICK = ("--command-property", "enable.idempotence=false")
"""librdkafka takes up to a second to get a producer id."""


@pytest.fixture
def topic(barnabas_broker: Broker) -> Iterator[str]:
    name = f"console-{os.urandom(4).hex()}"
    yield name
    barnabas_broker.delete_topics({name} & barnabas_broker.topics())


def _produce(broker: Broker, topic: str, stdin: str, *arguments: str) -> Ran:
    servers = ("--bootstrap-server", broker.bootstrap_servers)
    return run_inside("kafka-console-producer", *servers, "--topic", topic, *_QUICK, *arguments, stdin=stdin)


def _records(broker: Broker, topic: str, count: int, partition: int = 0) -> list[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        found: list[Message] = []
        while len(found) < count:
            message = consumer.poll(PATIENCE)
            assert message is not None
            if message.error() is not None:
                break
            found.append(message)
        return found
    finally:
        consumer.close()


def _values(broker: Broker, topic: str, count: int) -> list[bytes | None]:
    return [each.value() for each in _records(broker, topic, count)]


def test_each_line_is_a_record_and_the_last_needs_no_end(barnabas_broker: Broker, topic: str) -> None:
    ran = _produce(barnabas_broker, topic, "one\n\ntwo\r\nthree")
    assert (ran.stdout, ran.stderr, ran.code) == ("", "", 0)
    assert _values(barnabas_broker, topic, 4) == [b"one", b"", b"two", b"three"]


def test_the_old_name_of_the_brokers_flag_still_works(barnabas_broker: Broker, topic: str) -> None:
    servers = ("--broker-list", barnabas_broker.bootstrap_servers)
    ran = run_inside("kafka-console-producer.sh", *servers, "--topic", topic, *_QUICK, stdin="hello\n")
    assert (ran.stdout, ran.stderr, ran.code) == ("", "", 0)
    assert _values(barnabas_broker, topic, 1) == [b"hello"]


def test_bytes_that_are_no_text_pass_unchanged(barnabas_broker: Broker, topic: str) -> None:
    raw = bytes(each for each in range(256) if each not in (10, 13))
    call = f"main({_arguments(barnabas_broker, topic)!r})"
    script = f"from barnabas.cli.kafka.console_producer import main; raise SystemExit({call})"
    done = subprocess.run(
        [sys.executable, "-c", script], input=raw + b"\n" + raw, check=False, timeout=PROGRAM_PATIENCE
    )
    assert done.returncode == 0
    assert _values(barnabas_broker, topic, 2) == [raw, raw]


def _arguments(broker: Broker, topic: str) -> list[str]:
    return ["--bootstrap-server", broker.bootstrap_servers, "--topic", topic, *_QUICK]


def test_keys_headers_and_nulls_are_parsed(barnabas_broker: Broker, topic: str) -> None:
    properties = ["parse.key=true", "parse.headers=true", "key.separator=|", "null.marker=NULL"]
    flags = [word for each in properties for word in ("--reader-property", each)]
    assert _produce(barnabas_broker, topic, "h:1,i:NULL\tk|v\nNULL\tNULL|NULL\n", *flags).code == 0
    first, second = _records(barnabas_broker, topic, 2)
    assert (first.key(), first.value(), first.headers()) == (b"k", b"v", [("h", b"1"), ("i", None)])
    assert (second.key(), second.value(), second.headers()) == (None, None, None)


def test_properties_of_the_reader_may_be_in_a_file(
    barnabas_broker: Broker, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "reader.properties"
    path.write_text("parse.key=true\nkey.separator=,\n")
    flags = ("--reader-config", str(path), "--reader-property", "key.separator=;")
    assert _produce(barnabas_broker, topic, "a;1\n", *flags).code == 0
    (record,) = _records(barnabas_broker, topic, 1)
    assert (record.key(), record.value()) == (b"a", b"1")


def test_a_line_without_a_key_ends_the_tool_after_those_before_it(
    barnabas_broker: Broker, topic: str
) -> None:
    ran = _produce(barnabas_broker, topic, "a\t1\nbad\nb\t2\n", "--property", "parse.key=true")
    assert ran.code == 1
    assert ran.stdout == (
        "Warning: --property is deprecated and will be removed in a future version. "
        "Use --reader-property instead.\n"
    )
    assert ran.stderr == (
        "org.apache.kafka.common.KafkaException: No key separator found on line number 2: 'bad'\n"
    )
    assert _values(barnabas_broker, topic, 2) == [b"1"]


def test_keys_go_to_the_partitions_of_the_java_client(barnabas_broker: Broker, topic: str) -> None:
    barnabas_broker.create_topic(topic, partitions=4)
    flags = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    assert _produce(barnabas_broker, topic, "21:a\nfoobar:b\none:c\nthree:d\n", *flags).code == 0
    found = {
        each.key(): partition
        for partition in range(4)
        for each in _records(barnabas_broker, topic, 4, partition)
    }
    # Java's murmur2 of "21" is -973932308 and of "foobar" -790332482; the sign is cut off.
    assert found == {b"21": 0, b"foobar": 2, b"one": 3, b"three": 1}


@pytest.mark.parametrize("codec", [("--compression-codec",), ("--compression-codec", "zstd"), ("--sync",)])
def test_ways_of_sending(barnabas_broker: Broker, topic: str, codec: tuple[str, ...]) -> None:
    assert _produce(barnabas_broker, topic, "a\nb\n", *codec).code == 0
    assert _values(barnabas_broker, topic, 2) == [b"a", b"b"]


def test_a_hundred_thousand_lines_arrive_in_order(barnabas_broker: Broker, topic: str) -> None:
    """More than fit into the producer's memory at once."""
    count = 100_000
    text = "".join(f"line number {number}\n" for number in range(count))
    ran = _produce(barnabas_broker, topic, text, "--max-memory-bytes", "300000")
    assert (ran.stderr, ran.code) == ("", 0)
    records = _records(barnabas_broker, topic, count)
    assert [each.value() for each in records] == [b"line number %d" % number for number in range(count)]


def test_ctrl_c_sends_what_was_read(barnabas_broker: Broker, topic: str) -> None:
    lingering = ("--timeout", "60000", "--command-property", "delivery.timeout.ms=200000")
    with start("kafka-console-producer", *_arguments(barnabas_broker, topic), *lingering) as running:
        running.write("first\nsecond\n")
        running.until_input_is_read()
        # It reads on when it has sent the lines, so the producer has them now. It keeps them for a minute.
        running.write("half")
        running.until_input_is_read()
        ran = running.interrupt()
    assert ran.code == 128 + signal.SIGINT
    assert (ran.stdout, ran.stderr) == ("", "")
    assert _values(barnabas_broker, topic, 2) == [b"first", b"second"]


def test_a_record_that_is_too_large_is_reported_and_the_others_are_sent(
    barnabas_broker: Broker, topic: str
) -> None:
    ran = _produce(barnabas_broker, topic, "x" * 1_100_000 + "\nsmall\n")
    assert ran.code == 0
    first, second = ran.stderr.splitlines()
    assert first.endswith(
        f"ERROR Error when sending message to topic {topic} with key: null, value: 1100000 bytes with error: "
        "(org.apache.kafka.clients.producer.internals.ErrorLoggingCallback)"
    )
    assert second == (
        "org.apache.kafka.common.errors.RecordTooLargeException: The message is 1100088 bytes when "
        "serialized which is larger than 1048576, which is the value of the max.request.size configuration."
    )
    assert _values(barnabas_broker, topic, 1) == [b"small"]


def test_rejected_record_is_reported(barnabas_broker: Broker, topic: str) -> None:
    barnabas_broker.create_topic(topic, config={"max.message.bytes": "200"})
    ran = _produce(barnabas_broker, topic, "x" * 1000 + "\n")
    assert ran.code == 0
    assert "org.apache.kafka.common.errors.RecordTooLargeException: " in ran.stderr
    failed = _produce(barnabas_broker, topic, "x" * 1000 + "\n", "--sync")
    assert failed.code == 1
    assert failed.stderr.startswith(
        "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.RecordTooLargeException: "
    )


def test_a_bad_name_of_a_topic_is_reported(barnabas_broker: Broker) -> None:
    ran = _produce(barnabas_broker, "no such topic", "x\n")
    assert ran.stderr == (
        "org.apache.kafka.common.errors.InvalidTopicException: Invalid topics: [no such topic]\n"
    )
    assert ran.code == 1


def test_missing_topic_is_reported() -> None:
    with Broker(config={"auto.create.topics.enable": "false"}) as broker:
        ran = _produce(broker, "nowhere", "x\n", "--max-block-ms", "200")
    assert ran.stderr == (
        "org.apache.kafka.common.errors.TimeoutException: "
        "Topic nowhere not present in metadata after 200 ms.\n"
    )
    assert ran.code == 1


def test_unreachable_broker_is_reported_in_seconds() -> None:
    servers = ("--bootstrap-server", "127.0.0.1:1")
    ran = run_inside("kafka-console-producer", *servers, "--topic", "t", stdin="x\n")
    assert ran.stderr == "No broker answers (127.0.0.1:1: connection refused). Is it running?\n"
    assert ran.code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bootstrap-server", "h:1"], 'Missing required argument "[topic]"'),
        (["--topic", "t"], "Error while validating the bootstrap address"),
        (
            ["--topic", "t", "--bootstrap-server", "h"],
            "Please provide valid host:port like host1:9091,host2:9092",
        ),
        (
            ["--topic", "t", "--bootstrap-server", "h:1", "--property", "a=b", "--reader-property", "a=b"],
            "Options --reader-property and --property cannot be specified together.",
        ),
        (["--topic", "t", "--bootstrap-server", "h:1", "--batch-size", "x"], "Cannot parse argument 'x'"),
        (
            ["--topic", "t", "--bootstrap-server", "h:1", "--line-reader", "com.example.Mine"],
            "java.lang.ClassNotFoundException: com.example.Mine",
        ),
        (
            ["--topic", "t", "--bootstrap-server", "h:1", "--reader-property", "null.marker=:"],
            "org.apache.kafka.common.KafkaException: null.marker and headers.key.separator may not be equal",
        ),
    ],
)
def test_a_wrong_command_line_is_reported_with_kafkas_text(arguments: list[str], message: str) -> None:
    ran = run_inside("kafka-console-producer", *arguments)
    assert ran.code == 1
    assert ran.stderr.startswith(message)


def test_bad_properties_of_the_producer_are_reported(barnabas_broker: Broker) -> None:
    ran = _produce(barnabas_broker, "t", "x\n", "--request-required-acks", "5")
    assert ran.stderr == ("Invalid value 5 for configuration acks: String must be one of: all, -1, 0, 1\n")
    assert ran.code == 1
