"""Records that are larger than the target takes, and mirrors in both directions."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from tests.integration.pipelines.reading import records, table
from tests.integration.pipelines.test_mirror import Pair

from barnabas.client.errors import BrokerError
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.mirror.mirror_settings import MirrorSettings

pytestmark = pytest.mark.needs("pyspark", "java")

MEANT_TO_FAIL = "the target takes"
POLICY_VIOLATION = 44
COMPRESSIBLE = b"five megabytes of text " * 220_000
RANDOM = os.urandom(1_500_000)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with Broker(process=True) as source, Broker(process=True) as target:
        yield Pair(source, target)


def settings(pair: Pair, directory: Path, **more: Any) -> "MirrorSettings":
    from barnabas.pipelines.mirror.mirror_settings import MirrorSettings

    given = {"warehouse": str(directory), "available_now": True, "restarts": 0, "groups": "", **more}
    return MirrorSettings(
        bootstrap_server=pair.source.bootstrap_servers, target=pair.target.bootstrap_servers, **given
    )


def produce(broker: Broker, topic: str, *values: bytes) -> None:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "compression.type": "gzip",
            "message.max.bytes": 8_000_000,
        }
    )
    for value in values:
        producer.produce(topic, value, b"key", partition=0)
        assert producer.flush(30) == 0


def values(broker: Broker, topic: str) -> list[bytes]:
    return [each.value for each in records(broker.bootstrap_servers, topic)]


def test_large_records_are_copied_where_the_target_can_take_them(
    pipelines_spark: "SparkSession", pair: Pair, tmp_path: Path
) -> None:
    from barnabas.pipelines.mirror.pipeline import run

    pair.source.create_topic("text")
    pair.source.create_topic("images", config={"max.message.bytes": 3_000_000})
    pair.target.create_topic("images")
    produce(pair.source, "text", b"first", COMPRESSIBLE, b"last")
    produce(pair.source, "images", RANDOM)
    assert run(pipelines_spark, settings(pair, tmp_path, topics="text,images")) == 0
    assert values(pair.target, "text") == [b"first", COMPRESSIBLE, b"last"]
    assert values(pair.target, "images") == [RANDOM]


def test_a_record_that_the_target_does_not_take_fails_or_is_put_aside(
    pipelines_spark: "SparkSession",
    pair: Pair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from barnabas.pipelines.mirror import target_topics
    from barnabas.pipelines.mirror.pipeline import run

    def refused(*_: object, **__: object) -> None:
        raise BrokerError(POLICY_VIOLATION, "no topic may take more")

    pair.source.create_topic("blobs", config={"max.message.bytes": 3_000_000})
    pair.target.create_topic("blobs")
    produce(pair.source, "blobs", b"first", RANDOM, b"last")
    monkeypatch.setattr(target_topics, "alter_configs", refused)
    assert run(pipelines_spark, settings(pair, tmp_path, topics="blobs", too_large="fail")) == 1
    said = capsys.readouterr().err
    assert "mirror failed: TooLarge: blobs-0 offset 1: 150" in said
    assert "--too-large aside" in said
    assert values(pair.target, "blobs") == []
    assert run(pipelines_spark, settings(pair, tmp_path, topics="blobs")) == 0
    assert values(pair.target, "blobs") == [b"first", b"last"]
    [letter] = records(pair.target.bootstrap_servers, "mirror.dead-letters")
    assert RANDOM.startswith(letter.value)
    assert letter.headers["source-offset"] == b"1"
    assert letter.headers["payload-table"] == b"mirror_payloads"
    assert [bytes(value) for value in table(tmp_path, "mirror_payloads").value] == [RANDOM]


def test_mirrors_in_both_directions_copy_no_copies(
    pipelines_spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from barnabas.pipelines.mirror.pipeline import run

    with Broker(process=True) as here, Broker(process=True) as there:
        here.create_topic("orders")
        there.create_topic("returns")
        forth, back = Pair(here, there), Pair(there, here)
        produce(there, "returns", b"return")
        for turn, (pair, prefix) in enumerate(((forth, "here."), (back, "there."), (forth, "here."))):
            produce(here, "orders", b"order %d" % turn)
            chosen = settings(pair, tmp_path / prefix, topics_pattern=".*", prefix=prefix)
            assert run(pipelines_spark, chosen) == 0
        own = {"mirror-offsets", "mirror-topics"}
        internal = {"__consumer_offsets", "__transaction_state"}
        assert here.topics() - internal == {"orders", "there.returns", *own}
        assert there.topics() - internal == {"returns", "here.orders", *own}
        assert values(here, "there.returns") == [b"return"]
        assert values(there, "here.orders") == [b"order 0", b"order 1", b"order 2"]
    assert "here.orders is left out: its records came from the target" in capsys.readouterr().err
