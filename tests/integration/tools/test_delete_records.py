"""kafka-delete-records and `barnabas record delete` against our broker."""

import json
import re
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.integration.tools.programs import Ran, run_inside

from barnabas.testing import Broker

_NOW = int(time.time() * 1000)
_HEAD = ["Executing records delete operation", "Records delete operation completed:"]


@pytest.fixture
def topic(barnabas_broker: Broker, request: pytest.FixtureRequest) -> str:
    """Two partitions with five records each, a minute apart, the last one now."""
    name = "delete-records-" + re.sub(r"[^a-z]+", "-", request.node.name)
    barnabas_broker.create_topic(name, partitions=2)
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})
    for number in range(10):
        ago = 60_000 * (4 - number // 2)
        producer.produce(name, b"value", partition=number % 2, timestamp=_NOW - ago)
    producer.flush()
    return name


def _file(directory: Path, *entries: tuple[str, int, int]) -> str:
    path = directory / "offsets.json"
    partitions = [
        {"topic": topic, "partition": number, "offset": offset} for topic, number, offset in entries
    ]
    path.write_text(json.dumps({"partitions": partitions, "version": 1}))
    return str(path)


def _delete(broker: Broker, path: str) -> Ran:
    words = ["--bootstrap-server", broker.bootstrap_servers, "--offset-json-file", path]
    return run_inside("kafka-delete-records", *words)


def _starts(broker: Broker, topic: str) -> list[int]:
    words = ["--bootstrap-server", broker.bootstrap_servers, "--topic", topic, "--time", "earliest"]
    return [int(line.rpartition(":")[2]) for line in run_inside("kafka-get-offsets", *words).lines]


def test_each_partition_is_deleted_or_has_an_error(
    barnabas_broker: Broker, topic: str, tmp_path: Path
) -> None:
    path = _file(tmp_path, (topic, 1, 99), (topic, 0, 2), (topic, 7, 1), ("absent", 0, 1))
    ran = _delete(barnabas_broker, path)
    error = "error: org.apache.kafka.common.errors."
    out_of_range = "The requested offset is not within the range of offsets maintained by the server."
    unknown = f"{error}UnknownTopicOrPartitionException: "
    missing = "Failed to fetch metadata for partition absent-0 because metadata for topic `absent` could not"
    assert ran.code == 0
    assert ran.lines == [
        *_HEAD,
        f"partition: absent-0\t{unknown}{missing} be found",
        f"partition: {topic}-0\tlow_watermark: 2",
        f"partition: {topic}-1\t{error}OffsetOutOfRangeException: {out_of_range}",
        f"partition: {topic}-7\t{unknown}This server does not host this topic-partition.",
    ]
    assert _starts(barnabas_broker, topic) == [2, 0]


def test_file_that_is_missing_or_wrong_is_one_line(barnabas_broker: Broker, tmp_path: Path) -> None:
    missing = _delete(barnabas_broker, str(tmp_path / "absent.json"))
    assert missing.stderr == f"{tmp_path}/absent.json: No such file or directory\n"
    twice = _delete(barnabas_broker, _file(tmp_path, ("a", 0, 1), ("a", 0, 2)))
    assert twice.stderr == "Offset json file contains duplicate topic partitions: a-0\n"
    assert (missing.code, twice.code) == (1, 1)
    assert missing.stdout == twice.stdout == ""


# --- barnabas record delete --------------------------------------------------------------------------


def _record(broker: Broker, topic: str, *words: str) -> Ran:
    return run_inside("barnabas", "record", "delete", topic, *words, "-b", broker.bootstrap_servers)


def test_records_before_offsets_are_deleted(barnabas_broker: Broker, topic: str) -> None:
    ran = _record(barnabas_broker, topic, "--before", "0:3", "--before", "1:end", "--yes")
    assert ran.lines == [
        "PARTITION  START  BEFORE  DELETED",
        "        0      3       3        3",
        "        1      5       5        5",
    ]
    assert _starts(barnabas_broker, topic) == [3, 5]


def test_records_before_a_time_are_deleted(barnabas_broker: Broker, topic: str) -> None:
    found = json.loads(_record(barnabas_broker, topic, "--before", str(_NOW - 60_000), "-y", "--json").stdout)
    assert [each["deleted"] for each in found] == [3, 3]
    everything = json.loads(_record(barnabas_broker, topic, "--before", "0s", "-y", "--json").stdout)
    assert [each["start"] for each in everything] == [5, 5]


def test_nothing_is_deleted_without_yes_or_with_dry_run(barnabas_broker: Broker, topic: str) -> None:
    requested = _record(barnabas_broker, topic, "--before", "end")
    assert requested.code == 2
    assert f"Delete 10 records of 2 partitions of {topic}?" in requested.stderr
    assert "--yes" in requested.stderr
    dry = _record(barnabas_broker, topic, "--before", "2m", "--dry-run", "--json")
    assert [each["partition"] for each in json.loads(dry.stdout)] == [0, 1]
    assert _starts(barnabas_broker, topic) == [0, 0]


def test_partition_that_refuses_is_named_and_the_others_are_done(barnabas_broker: Broker, topic: str) -> None:
    ran = _record(barnabas_broker, topic, "--before", "0:1", "--before", "1:99", "--yes")
    assert ran.code == 1
    assert ran.lines[1:] == ["        0      1       1        1"]
    assert ran.stderr.startswith(f"barnabas: {topic}-1: The requested offset is not within the range")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["5"], "5 is not a time: write an offset as PARTITION:OFFSET"),
        (["9:5"], "has no partition 9"),
        (["0:1", "0:2"], "A partition is named twice"),
        (["0:1", "7d"], "Several are PARTITION:OFFSET"),
        (["soon"], "'soon' is not a time"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    barnabas_broker: Broker, topic: str, words: list[str], message: str
) -> None:
    options = [word for each in words for word in ("--before", each)]
    ran = _record(barnabas_broker, topic, *options, "--yes")
    assert (ran.code, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert _starts(barnabas_broker, topic) == [0, 0]
