"""kafka-get-offsets and `barnabas record offsets` against our broker."""

import json
import re
import time

import pytest
from confluent_kafka import Producer
from tests.integration.tools.programs import Ran, run_inside

from barnabas.testing import Broker

_MIDDLE = int(time.time() * 1000)


@pytest.fixture
def topic(barnabas_broker: Broker, request: pytest.FixtureRequest) -> str:
    """Two partitions: three records around `_MIDDLE`, a second apart, and none."""
    name = "get-offsets-" + re.sub(r"[^a-z]+", "-", request.node.name)
    barnabas_broker.create_topic(name, partitions=2)
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})
    for step in (-1000, 0, 1000):
        producer.produce(name, b"value", partition=0, timestamp=_MIDDLE + step)
    producer.flush()
    return name


def _offsets(broker: Broker, *words: str) -> Ran:
    return run_inside("kafka-get-offsets", "--bootstrap-server", broker.bootstrap_servers, *words)


def test_offsets_at_a_time_leave_out_partitions_without_such_a_record(
    barnabas_broker: Broker, topic: str
) -> None:
    assert _offsets(barnabas_broker, "--topic", topic).lines == [f"{topic}:0:3", f"{topic}:1:0"]
    assert _offsets(barnabas_broker, "--topic", topic, "--time", str(_MIDDLE)).lines == [f"{topic}:0:1"]
    assert _offsets(barnabas_broker, "--topic", topic, "--time", "max-timestamp").lines == [f"{topic}:0:2"]
    late = _offsets(barnabas_broker, "--topic", topic, "--time", str(_MIDDLE + 5000))
    assert (late.stdout, late.stderr, late.code) == ("", "", 0)


def test_partition_that_cannot_be_answered_is_skipped_with_its_reason(
    barnabas_broker: Broker, topic: str
) -> None:
    ran = _offsets(barnabas_broker, "--topic", topic, "--time", "-9")
    assert ran.code == 0
    assert ran.stdout == ""
    assert ran.stderr.splitlines() == [
        f"Skip getting offsets for topic-partition {topic}-{number} due to error: "
        "org.apache.kafka.common.errors.UnsupportedVersionException: The version of API is not supported."
        for number in (0, 1)
    ]


def test_names_of_two_point_x_still_work_with_a_warning(barnabas_broker: Broker, topic: str) -> None:
    old = ["--broker-list", barnabas_broker.bootstrap_servers, "--offsets", "1", "--max-wait-ms", "1000"]
    ran = run_inside("kafka-get-offsets.sh", *old, "--topic", topic, "--time", "-2")
    assert ran.lines == [f"{topic}:0:0", f"{topic}:1:0"]
    assert "Option --broker-list is deprecated" in ran.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--topic", "["], "Error occurred: [ is an invalid regex.\n"),
        (["--topic-partitions", "a:b"], "Error occurred: Invalid rule specification: a:b\n"),
        (["--command-config", "/absent"], "Error occurred: /absent: No such file or directory\n"),
    ],
)
def test_bad_words_are_one_line(barnabas_broker: Broker, words: list[str], message: str) -> None:
    ran = _offsets(barnabas_broker, *words)
    assert (ran.stdout, ran.stderr, ran.code) == ("", message, 1)


def test_broker_that_is_away_is_one_line() -> None:
    ran = run_inside("kafka-get-offsets", "--bootstrap-server", "127.0.0.1:1")
    assert ran.code == 1
    assert ran.stderr.startswith("Error occurred: No broker answers (127.0.0.1:1: connection refused)")
    assert len(ran.stderr.splitlines()) == 1


def test_address_without_a_port_is_a_usage_error() -> None:
    ran = run_inside("kafka-get-offsets", "--bootstrap-server", "localhost")
    assert ran.code == 1
    assert ran.stderr.splitlines() == [
        "Please provide valid host:port like host1:9091,host2:9092",
        "Try 'kafka-get-offsets --help'.",
    ]


# --- barnabas record offsets -------------------------------------------------------------------------


def _record(broker: Broker, *words: str) -> Ran:
    return run_inside("barnabas", "record", "offsets", *words, "-b", broker.bootstrap_servers)


def test_record_offsets_are_a_table(barnabas_broker: Broker, topic: str) -> None:
    assert _record(barnabas_broker, topic).lines == [
        "PARTITION  START  END  RECORDS  LEADER EPOCH",
        "        0      0    3        3             0",
        "        1      0    0        0             0",
    ]


def test_record_offsets_at_a_time_have_a_column_more(barnabas_broker: Broker, topic: str) -> None:
    found = json.loads(_record(barnabas_broker, topic, "--at", str(_MIDDLE), "--json").stdout)
    assert found == [
        {"partition": 0, "start": 0, "at": 1, "end": 3, "records": 3, "leader_epoch": 0},
        {"partition": 1, "start": 0, "at": None, "end": 0, "records": 0, "leader_epoch": 0},
    ]
    (_, first, _) = _record(barnabas_broker, topic, "--time", "1h").lines
    assert first.split() == ["0", "0", "0", "3", "3", "0"]


def test_record_offsets_of_a_topic_that_is_missing_are_refused(barnabas_broker: Broker) -> None:
    ran = _record(barnabas_broker, "no-such-topic")
    assert (ran.stderr, ran.code) == ("barnabas: Topic no-such-topic does not exist\n", 1)


def test_record_offsets_at_what_is_no_time_are_refused(barnabas_broker: Broker, topic: str) -> None:
    ran = _record(barnabas_broker, topic, "--at", "soon")
    assert ran.code == 2
    assert ran.stderr.startswith(
        "barnabas: Invalid value for '--at': 'soon' is not a time: expected 2026-01-31"
    )
