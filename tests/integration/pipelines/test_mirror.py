"""Topics to another cluster: the same records in the same partitions, once, and groups that go on there."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import Producer
from tests.integration.pipelines.reading import Record, records
from tests.integration.spark.spark_programs import environment

from barnabas.client.admin.configs import TOPIC, Resource, describe_configs
from barnabas.client.admin.group_offsets import commit_offsets, committed_offsets
from barnabas.client.admin.topics import Growth, add_partitions
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.mirror.mirror_settings import MirrorSettings

pytestmark = pytest.mark.needs("pyspark", "java")

DRIVER = Path(__file__).parent / "drivers" / "dying_mirror.py"
MEANT_TO_FAIL = "fails after its copy"
START = 1_767_225_600_000
COUNT = 200
GROUP = {0: 3, 1: 40, 2: 10_000}
"""Where the group `billing` stands at the source: near the beginning, behind a gap, beyond the end."""


class Pair(NamedTuple):
    source: Broker
    target: Broker


@contextmanager
def two_clusters() -> Iterator[Pair]:
    with Broker(process=True) as source, Broker(process=True) as target:
        source.create_topic(
            "orders", 3, {"max.message.bytes": 2_000_000, "message.timestamp.type": "CreateTime"}
        )
        source.create_topic("quiet", 2)
        produce(source, range(COUNT))
        with Cluster(ClientSettings.of(source.bootstrap_servers)) as cluster:
            commit_offsets(
                cluster, "billing", {("orders", partition): offset for partition, offset in GROUP.items()}
            )
            commit_offsets(cluster, "spark-kafka-source-1", {("orders", 0): 1})
        yield Pair(source, target)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with two_clusters() as opened:
        yield opened


@pytest.fixture
def own_pair() -> Iterator[Pair]:
    """For a test that changes the source."""
    with two_clusters() as opened:
        yield opened


def produce(broker: Broker, numbers: range, partitions: int = 3) -> None:
    """Transactions of 20 records, every third of them aborted: gaps in the source."""
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "filler", "linger.ms": 5}
    )
    producer.init_transactions(30)
    for begin in range(numbers.start, numbers.stop, 20):
        producer.begin_transaction()
        for number in range(begin, min(begin + 20, numbers.stop)):
            producer.produce(
                "orders",
                None if number % 7 == 0 else f"value {number}".encode(),
                None if number % 5 == 0 else f"key {number}".encode(),
                partition=number % partitions,
                timestamp=START + number * 1000,
                headers=[("number", str(number).encode())] if number % 2 else None,
            )
        (producer.abort_transaction if begin // 20 % 3 == 1 else producer.commit_transaction)(30)
    producer.flush(30)


def settings_for(pair: Pair, directory: Path, **more: object) -> "MirrorSettings":
    from barnabas.pipelines.mirror.mirror_settings import MirrorSettings

    common = {"warehouse": str(directory), "available_now": True, "restarts": 10, "topics": "orders,quiet"}
    return MirrorSettings(
        bootstrap_server=pair.source.bootstrap_servers,
        target=pair.target.bootstrap_servers,
        **{**common, **more},  # type: ignore[arg-type]
    )


def contents(broker: Broker, topic: str) -> dict[int, list[tuple[object, ...]]]:
    """What a copy has to have in common with its original, by partition."""
    found: dict[int, list[tuple[object, ...]]] = {}
    for each in records(broker.bootstrap_servers, topic):
        found.setdefault(each.partition, []).append((each.key, each.value, each.timestamp, each.headers))
    return found


def following(broker: Broker, topic: str, partition: int, offset: int) -> Record | None:
    """The first record that a consumer at this offset reads."""
    at = [each for each in records(broker.bootstrap_servers, topic) if each.partition == partition]
    return min((each for each in at if each.offset >= offset), key=lambda each: each.offset, default=None)


@pytest.fixture(scope="module")
def mirrored(pipelines_spark: "SparkSession", pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """In batches of 90 records. After each first attempt at a copy the batch fails: all run twice."""
    from barnabas.pipelines.mirror import pipeline
    from barnabas.pipelines.mirror.offset_log import OffsetLog

    append = OffsetLog.append
    failed: set[int] = set()

    def failing(
        self: object, spark: object, stretches: object, application: str, batch: int, checkpoint: Path
    ) -> None:
        if batch not in failed:
            failed.add(batch)
            raise RuntimeError(f"batch {batch} {MEANT_TO_FAIL}")
        append(self, spark, stretches, application, batch, checkpoint)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OffsetLog, "append", failing)
        settings = settings_for(pair, tmp_path_factory.mktemp("mirror"), max_offsets=90)
        assert pipeline.run(pipelines_spark, settings) == 0
    assert len(failed) >= 2
    return pair


def test_the_copy_has_every_record_once_in_its_partition(mirrored: Pair) -> None:
    original = contents(mirrored.source, "orders")
    assert sum(map(len, original.values())) == COUNT - 60
    assert contents(mirrored.target, "orders") == original


def test_a_missing_topic_is_created_like_the_original(mirrored: Pair) -> None:
    assert {"orders", "quiet", "mirror-offsets"} <= mirrored.target.topics()
    with Cluster(ClientSettings.of(mirrored.target.bootstrap_servers)) as cluster:
        configs = describe_configs(cluster, [Resource(TOPIC, "orders")])[Resource(TOPIC, "orders")]
    assert {each.name: each.value for each in configs}["max.message.bytes"] == "2000000"


def test_a_group_goes_on_with_the_same_record(mirrored: Pair) -> None:
    with Cluster(ClientSettings.of(mirrored.target.bootstrap_servers)) as cluster:
        there = committed_offsets(cluster, "billing")
        assert committed_offsets(cluster, "spark-kafka-source-1") == {}
    assert {partition for _, partition in there} == set(GROUP)
    for partition, offset in GROUP.items():
        original = following(mirrored.source, "orders", partition, offset)
        copy = following(mirrored.target, "orders", partition, there["orders", partition].offset)
        assert (copy and copy[2:]) == (original and original[2:])


def test_every_offset_of_the_source_is_translated(mirrored: Pair) -> None:
    from barnabas.pipelines.mirror.offset_log import OffsetLog

    log = OffsetLog(mirrored.target.bootstrap_servers, "mirror-offsets")
    with Cluster(ClientSettings.of(mirrored.target.bootstrap_servers)) as cluster:
        offsets = log.read(cluster)
    originals = records(mirrored.source.bootstrap_servers, "orders")
    copied = {
        (each.partition, each.offset): each[2:]
        for each in records(mirrored.target.bootstrap_servers, "orders")
    }
    for each in originals:
        target = offsets.translate(("orders", each.partition), each.offset)
        assert target is not None
        assert copied[each.partition, target] == each[2:]


def test_a_mirror_onto_itself_is_refused_before_a_topic_is_made(kafka_broker: Broker) -> None:
    from barnabas.pipelines.mirror.pipeline import main

    servers = kafka_broker.bootstrap_servers
    kafka_broker.create_topic("orders")
    assert main(["--bootstrap-server", servers, "--target", servers, "--topics", "orders"]) == 2
    assert "mirror-offsets" not in kafka_broker.topics()


def test_new_partitions_are_followed(pipelines_spark: "SparkSession", own_pair: Pair, tmp_path: Path) -> None:
    """A mirror of its own, with a prefix: from the beginning, with a partition more."""
    from barnabas.pipelines.mirror.pipeline import run

    settings = settings_for(own_pair, tmp_path, topics="orders", prefix="copy.", groups="")
    assert run(pipelines_spark, settings) == 0
    with Cluster(ClientSettings.of(own_pair.source.bootstrap_servers)) as cluster:
        add_partitions(cluster, {"orders": Growth(4)})
    produce(own_pair.source, range(COUNT, COUNT + 40), partitions=4)
    assert run(pipelines_spark, settings) == 0
    original = contents(own_pair.source, "orders")
    assert 3 in original
    assert contents(own_pair.target, "copy.orders") == original


@pytest.mark.soak
@pytest.mark.parametrize("point", ["copying", "copied", "remembered"])
def test_a_driver_killed_at_a_point_of_a_batch_loses_and_doubles_nothing(
    pipelines_spark: "SparkSession", pair: Pair, tmp_path: Path, point: str
) -> None:
    from barnabas.pipelines.mirror.pipeline import run

    given = {
        "bootstrap-server": pair.source.bootstrap_servers,
        "target": pair.target.bootstrap_servers,
        "warehouse": tmp_path,
        "master": "local[2]",
        "topics": "orders",
        "prefix": f"{point}.",
        "offsets-topic": f"{point}.offsets",
        "groups": "",
        "max-offsets": 90,
        "trigger": "0 seconds",
    }
    words = [f"--{name}={value}" for name, value in given.items()]
    driver = subprocess.run(
        [sys.executable, str(DRIVER), point, "1", *words],
        start_new_session=True, env=environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert driver.returncode == -signal.SIGKILL, driver.stderr
    settings = settings_for(
        pair,
        tmp_path,
        topics="orders",
        prefix=f"{point}.",
        offsets_topic=f"{point}.offsets",
        groups="",
        max_offsets=90,
    )
    assert run(pipelines_spark, settings) == 0
    assert contents(pair.target, f"{point}.orders") == contents(pair.source, "orders")
