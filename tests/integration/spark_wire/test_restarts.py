"""The broker is killed in the middle: nothing is lost, nothing is there twice."""

import threading
from collections.abc import Iterator

import pytest
from tests.integration.spark_wire.rows import numbers, read, rows
from tests.patience import PATIENCE

from barnabas.client.admin.offsets import end_offsets
from barnabas.client.cluster import Cluster
from barnabas.spark.wire.cluster_settings import client_settings
from barnabas.spark.wire.end_transaction import end_transaction
from barnabas.spark.wire.partition_fetch import FetchSettings, PartitionFetcher
from barnabas.spark.wire.produce_settings import ProduceSettings
from barnabas.spark.wire.producer import Producer
from barnabas.testing import Broker

COUNT = 60_000


@pytest.fixture(scope="module")
def mortal() -> Iterator[Broker]:
    with Broker(process=True) as broker:
        yield broker


@pytest.fixture
def near(mortal: Broker) -> Iterator[Cluster]:
    mortal.start()
    with Cluster(client_settings({"bootstrap.servers": mortal.bootstrap_servers})) as found:
        yield found


def _restart(broker: Broker, *, is_killed: bool) -> None:
    if is_killed:
        broker.kill()
    else:
        broker.stop()
    broker.start()


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_restart_in_the_middle_of_producing(
    mortal: Broker, near: Cluster, name: str, is_killed: bool
) -> None:
    restarting = threading.Thread(target=_restart, args=(mortal,), kwargs={"is_killed": is_killed})
    with Producer(near, ProduceSettings(batch_bytes=5000, retry_backoff=0.02)) as producer:
        for first in range(0, COUNT, 1000):
            producer.send(name, 0, rows(first, 1000))
            if first == COUNT // 3:
                restarting.start()
        producer.flush()
    restarting.join()
    assert end_offsets(near, [(name, 0)]) == {(name, 0): COUNT}
    assert read(near, name, COUNT) == list(range(COUNT))


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_restart_while_reading(mortal: Broker, near: Cluster, name: str, is_killed: bool) -> None:
    with Producer(near, ProduceSettings(batch_bytes=5000)) as producer:
        producer.send(name, 0, rows(0, COUNT))
        producer.flush()
    settings = FetchSettings(partition_max_bytes=100_000, retry_backoff=0.02, poll_timeout=PATIENCE)
    found = []
    for turn, chunk in enumerate(PartitionFetcher(near, name, 0, settings).chunks(0, COUNT)):
        found.append(chunk)
        if turn == 3:
            _restart(mortal, is_killed=is_killed)
    assert numbers(found) == list(range(COUNT))


def test_transaction_outlives_the_broker(mortal: Broker, near: Cluster, name: str) -> None:
    settings = ProduceSettings(transactional_id=name, transaction_timeout_ms=60_000, retry_backoff=0.02)
    with Producer(near, settings) as producer:
        producer.send(name, 0, rows(0, 1000))
        producer.flush()
        _restart(mortal, is_killed=True)
        producer.send(name, 0, rows(1000, 1000))
        producer.send_offsets(f"group-{name}", {(name, 0): (1, "")})
        producer.flush()
        identity = producer.identity
    _restart(mortal, is_killed=True)
    end_transaction(near, name, identity.producer_id, identity.epoch, True)
    assert read(near, name, 2000) == list(range(2000))
