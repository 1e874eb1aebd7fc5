import time

import pytest
from tests.integration.spark_wire.rows import read, rows
from tests.patience import PATIENCE

from barnabas.client.admin.group_offsets import CommittedOffset, committed_offsets
from barnabas.client.admin.offsets import READ_COMMITTED, list_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.spark.wire.end_transaction import end_transaction
from barnabas.spark.wire.partition_fetch import FetchSettings, PartitionFetcher
from barnabas.spark.wire.produce_settings import ProduceSettings
from barnabas.spark.wire.producer import Producer

FENCED = {47, 90}
"""Kafka says either, by the version of the request."""


@pytest.fixture(params=["version 1", "version 2"])
def is_version_2(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Every broker serves the clients that know version 1 only."""
    if request.param == "version 1":
        for module in ("transaction", "end_transaction"):
            monkeypatch.setattr(f"barnabas.spark.wire.{module}.is_version_2", lambda *_: False)
    return bool(request.param == "version 2")


def _producer(cluster: Cluster, name: str) -> Producer:
    return Producer(cluster, ProduceSettings(transactional_id=name, transaction_timeout_ms=60_000))


def _stable_end(cluster: Cluster, topic: str) -> int:
    listed = list_offsets(cluster, {(topic, 0): -1}, isolation=READ_COMMITTED)[topic, 0]
    assert not isinstance(listed, BrokerError)
    return listed.offset


def test_transaction_is_ended_by_somebody_else(cluster: Cluster, name: str, is_version_2: bool) -> None:
    with _producer(cluster, name) as producer:
        producer.init()
        assert producer.is_version_2 == is_version_2
        producer.send(name, 0, rows(0, 1000))
        producer.send_offsets(f"group-{name}", {(name, 0): (7, "remark")})
        producer.flush()
        identity = producer.identity
    assert _stable_end(cluster, name) == 0
    assert committed_offsets(cluster, f"group-{name}") == {}
    for _ in range(2):  # an answer may get lost: ending it again succeeds again
        end_transaction(cluster, name, identity.producer_id, identity.epoch, True)
    _wait_for_end(cluster, name, 1001)
    assert read(cluster, name, 1001) == list(range(1000))
    committed = committed_offsets(cluster, f"group-{name}")
    assert committed == {(name, 0): CommittedOffset(7, None, "remark")}


def _wait_for_end(cluster: Cluster, topic: str, end: int) -> None:
    """The markers come a moment after the answer."""
    deadline = time.monotonic() + PATIENCE
    while _stable_end(cluster, topic) != end and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _stable_end(cluster, topic) == end


def test_transactions_follow_each_other(cluster: Cluster, name: str, is_version_2: bool) -> None:
    with _producer(cluster, name) as producer:
        for first in range(0, 300, 100):
            producer.send(name, 0, rows(first, 100))
            producer.commit()
        producer.send(name, 0, rows(900, 100))
        producer.flush()
        producer.abort()
        producer.send(name, 0, rows(300, 100))
        producer.commit()
    _wait_for_end(cluster, name, 505)
    assert read(cluster, name, 505) == [*range(300), *range(900, 1000), *range(300, 400)]
    settings = FetchSettings(isolation=READ_COMMITTED, poll_timeout=PATIENCE)
    chunks = list(PartitionFetcher(cluster, name, 0, settings).chunks(0, 505))
    aborted = {each for chunk in chunks for each in chunk.aborted}
    assert [first for _, first in aborted] == [303]


def test_zombie_ends_nothing(cluster: Cluster, name: str, is_version_2: bool) -> None:
    with _producer(cluster, name) as zombie, _producer(cluster, name) as successor:
        zombie.send(name, 0, rows(0, 10))
        zombie.flush()
        old = zombie.identity
        successor.init()
        for commit in (True, False):
            with pytest.raises(BrokerError) as failure:
                end_transaction(cluster, name, old.producer_id, old.epoch, commit)
            assert failure.value.code in FENCED
        zombie.send(name, 0, rows(10, 10))
        with pytest.raises(BrokerError) as refused:
            zombie.flush()
        assert refused.value.code in FENCED
        successor.send(name, 0, rows(20, 10))
        successor.commit()
    end = _stable_end(cluster, name)
    settings = FetchSettings(isolation=READ_COMMITTED, poll_timeout=PATIENCE)
    (aborted,) = {e for c in PartitionFetcher(cluster, name, 0, settings).chunks(0, end) for e in c.aborted}
    assert aborted == (old.producer_id, 0)
    assert read(cluster, name, end) == [*range(10), *range(20, 30)]


def test_timeout_beyond_the_brokers_is_named(cluster: Cluster, name: str) -> None:
    settings = ProduceSettings(transactional_id=name, transaction_timeout_ms=2**31 - 1)
    with Producer(cluster, settings) as producer, pytest.raises(BrokerError) as failure:
        producer.init()
    assert "transaction.timeout.ms=2147483647 is more than the broker allows" in failure.value.message
