"""Records that would stop a pipeline for ever: too large for a dead letter, or for a record made of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from tests.integration.pipelines.reading import records, table

from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")

LIMIT = 1_048_588
TIME = "16/Nov/2026:09:30:00 +0000"
LINE = f'198.51.100.7 - ada [{TIME}] "GET /cart HTTP/1.1" 200 5120 "-" "Mozilla/5.0" 37 checkout'
EVENT = {"event_id": "1", "type": "view", "user": "ada", "page": "/cart", "time": "2026-11-16T09:30:00.250Z"}
NOW = 1_794_821_400_000  # 2026-11-16 09:30 UTC
FIVE = {f"trace-{number}": b"t" * 20 for number in range(5)}
COMPRESSED = b"garbage " * 260_000
NEAR_LIMIT = b"n" * (LIMIT - 400)
LARGE_HEADER = {"dump": b"h" * 1_000_000}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as started:
        yield started


def produce(broker: Broker, topic: str, value: bytes, headers: dict[str, bytes] | None = None) -> None:
    """With a compression that makes it fit, as its producer had."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "compression.type": "gzip",
            "message.max.bytes": 8_000_000,
        }
    )
    producer.produce(topic, value, b"key", partition=0, timestamp=NOW, headers=list((headers or {}).items()))
    assert producer.flush(30) == 0


def settings(broker: Broker, directory: Path) -> dict[str, Any]:
    return {
        "bootstrap_server": broker.bootstrap_servers,
        "warehouse": str(directory),
        "available_now": True,
        "restarts": 0,
    }


def test_a_line_that_is_too_large_for_a_letter_is_put_aside_and_stops_nothing(
    pipelines_spark: "SparkSession", broker: Broker, tmp_path: Path
) -> None:
    from barnabas.pipelines.common.running import Runner
    from barnabas.pipelines.log_collection import pipeline as logs

    for topic in ("access-logs", "access-logs.dead-letters"):
        broker.create_topic(topic)
    produce(broker, "access-logs", LINE.encode())
    produce(broker, "access-logs", COMPRESSED)
    produce(broker, "access-logs", NEAR_LIMIT, FIVE)
    produce(broker, "access-logs", b"small", LARGE_HEADER | {"more": b"m" * 100_000})
    produce(broker, "access-logs", b"only small", FIVE)
    # A line that can be parsed, but whose service would be the key of an error rate: every query would stop.
    produce(broker, "access-logs", LINE.encode() + b"s" * 200_000)
    chosen = logs.LogSettings(**settings(broker, tmp_path))
    assert Runner(chosen).run(logs.queries(pipelines_spark, chosen)[:1]) == 0
    assert len(table(tmp_path, "access_logs")) == 1
    letters = {int(each.headers["source-offset"]): each for each in records_of(broker)}
    assert [letters[offset].headers["error"] for offset in sorted(letters)] == [
        b"longer than 128 KiB", b"longer than 128 KiB", b"not an access-log line", b"not an access-log line",
        b"longer than 128 KiB",
    ]  # fmt: skip
    assert letters[4].value == b"only small"
    assert letters[4].headers.items() >= FIVE.items()
    assert "payload-table" not in letters[4].headers
    large = {1: COMPRESSED, 2: NEAR_LIMIT, 3: b"small"}
    for offset, value in large.items():
        letter = letters[offset]
        assert letter.headers["payload-table"] == b"logs_payloads"
        assert int(letter.headers["original-size"]) > 1_000_000
        assert value.startswith(letter.value)
        assert len(letter.value) in (len(value), *range(500_000, LIMIT))
    assert letters[2].headers.items() >= FIVE.items()
    assert "dump" not in letters[3].headers
    aside = table(tmp_path, "logs_payloads").sort_values("offset")
    assert dict(zip(aside.offset, aside.value, strict=True)) == large
    assert aside.headers.iloc[2][0]["value"] == LARGE_HEADER["dump"]


def records_of(broker: Broker) -> list[Any]:
    return list(records(broker.bootstrap_servers, "access-logs.dead-letters"))


def test_an_event_with_a_field_larger_than_a_record_is_a_letter(
    pipelines_spark: "SparkSession", broker: Broker
) -> None:
    from barnabas.pipelines.activity_tracking import transformations as activity

    rows = [json.dumps({**EVENT, "page": page}).encode() for page in ("/cart", "/" + "p" * 1_500_000)]
    frame = pipelines_spark.createDataFrame([(value,) for value in rows], "value binary").selectExpr(
        "value", "timestamp '2026-11-16 09:30:00' as timestamp"
    )
    assert [row.error for row in activity.parse(frame).collect()] == [None, "longer than 128 KiB"]
