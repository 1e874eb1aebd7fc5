"""Brokers and logs that do not belong to a cluster: a clear message, and nothing lost or divergent."""

from pathlib import Path

import pytest
from tests.faults.replicated_topic import assert_no_traceback
from tests.faults.served import Served

from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.log_loader import open_log
from barnabas.testing import Cluster

pytestmark = pytest.mark.needs("confluent_kafka")

_TOPIC = "guarded"


def _produce(bootstrap: str, count: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for number in range(count):
        producer.produce(_TOPIC, str(number).encode(), partition=0)
    assert producer.flush(60) == 0


def _log(cluster: Cluster, broker: int) -> bytes:
    directory = cluster.brokers[broker].log_dir / f"{_TOPIC}-0"
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def _write_foreign_records(directory: Path, leader_epoch: int) -> None:
    """As if the directory had been restored from another cluster: its last records are not of this one."""
    log = open_log(directory, LogConfig(), LogEnvironment(FileSystem()), clean=True)
    foreign = [Record(index, 1, None, b"foreign", ()) for index in range(20)]
    log.append_as_follower(build_batch(foreign, base_offset=log.log_end_offset, leader_epoch=leader_epoch))
    log.close()


@pytest.mark.parametrize("leader_epoch", [0, 1000])
def test_follower_with_a_foreign_log_gets_the_leaders(kafka_cluster: Cluster, leader_epoch: int) -> None:
    """Its records have an epoch that is over, or one that no leader has had."""
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, 1)
    cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2})
    cluster.restart(cluster.leader(_TOPIC, 0))  # another broker leads, with the next epoch
    cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2})
    _produce(cluster.bootstrap_servers, 50)
    leader = cluster.leader(_TOPIC, 0)
    follower = min({0, 1, 2} - {leader})
    cluster.stop(follower)
    cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2} - {follower})
    _write_foreign_records(cluster.brokers[follower].log_dir / f"{_TOPIC}-0", leader_epoch)
    _produce(cluster.bootstrap_servers, 30)
    cluster.start(follower)
    cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2})
    _produce(cluster.bootstrap_servers, 10)
    assert _log(cluster, leader).count(b"foreign") == 0
    assert len({_log(cluster, broker) for broker in range(3)}) == 1
    assert_no_traceback(cluster)


def test_second_broker_with_an_id_and_one_of_another_cluster_are_refused(
    kafka_cluster: Cluster, tmp_path: Path
) -> None:
    store = kafka_cluster.directory / "store" / "metadata.db"
    own, others = tmp_path / "twin", tmp_path / "stranger"
    own.mkdir()
    others.mkdir()
    with Served(own, {"node.id": 1, "barnabas.metadata.store.path": store}) as twin:
        twin.spawn()
        assert not twin.becomes_ready()
        assert twin.wait() != 0
        assert "broker id 1 is in use by another running broker" in "\n".join(twin.lines)
        twin.assert_no_traceback()
    with Served(others, {"node.id": 7}) as stranger:
        stranger.start()
        stranger.stop()
        stranger.config["barnabas.metadata.store.path"] = store
        stranger.spawn()
        assert not stranger.becomes_ready()
        assert stranger.wait() != 0
        assert "belongs to cluster" in "\n".join(stranger.lines)
        stranger.assert_no_traceback()
    kafka_cluster.create_topic(_TOPIC, 1)
    kafka_cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2})
