"""Apache Kafka's replication tests: a leader or the controller fails in each way while records are written.

3 brokers, 3 partitions, replication factor 3, `min.insync.replicas` 2, as in Kafka's `ReplicationTest`.
"""

import itertools
from collections.abc import Callable

import pytest
from tests.faults.replicated_topic import assert_no_traceback
from tests.faults.system.verified_load import VerifiedLoad

from barnabas.testing import Cluster

pytestmark = [
    pytest.mark.needs("confluent_kafka"),
    pytest.mark.kafka_cluster(config={"min.insync.replicas": 2}),
    pytest.mark.soak,
]

_TOPIC = "test_topic"
_PARTITIONS = 3
_BOUNCES = 5
_CODECS = ("none", "gzip")


def _victim(cluster: Cluster, which: str) -> int:
    return cluster.controller() if which == "controller" else cluster.leader(_TOPIC, 0)


def _stop(cluster: Cluster, broker: int) -> None:
    cluster.stop(broker)


def _kill(cluster: Cluster, broker: int) -> None:
    cluster.kill(broker)


def _in_sync(cluster: Cluster) -> None:
    for partition in range(_PARTITIONS):
        cluster.wait_for_isr(_TOPIC, partition, {0, 1, 2})


@pytest.mark.parametrize("codec", _CODECS)
@pytest.mark.parametrize("is_idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("bounces", [1, _BOUNCES], ids=["shutdown", "bounce"])
@pytest.mark.parametrize("end", [_stop, _kill], ids=["clean", "hard"])
@pytest.mark.parametrize("which", ["leader", "controller"])
def test_nothing_acknowledged_is_lost(
    kafka_cluster: Cluster,
    which: str,
    end: Callable[[Cluster, int], None],
    bounces: int,
    is_idempotent: bool,
    codec: str,
) -> None:
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, _PARTITIONS)
    _in_sync(cluster)
    settings = {"enable.idempotence": is_idempotent, "acks": "all", "compression.type": codec}
    with VerifiedLoad(cluster, _TOPIC, settings) as load:
        load.wait_for_more()
        for _ in range(bounces):
            broker = _victim(cluster, which)
            end(cluster, broker)
            load.wait_for_more(200)
            cluster.start(broker)
            _in_sync(cluster)
        load.wait_for_more()
        load.verify()
    assert_no_traceback(cluster)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[:2], ids=str)
def test_rolling_bounce_while_a_group_reads(kafka_cluster: Cluster, order: tuple[int, ...]) -> None:
    """Kafka's consumer tests: every broker is restarted, once cleanly and once by a kill."""
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, _PARTITIONS)
    with VerifiedLoad(cluster, _TOPIC) as load:
        load.wait_for_more()
        for end in (_stop, _kill):
            for broker in order:
                end(cluster, broker)
                load.wait_for_more(200)
                cluster.start(broker)
                _in_sync(cluster)
        load.verify()
    assert_no_traceback(cluster)


def test_isr_shrinks_and_expands_while_records_are_written(kafka_cluster: Cluster) -> None:
    """Kafka's replica failure test: ISR 3, 2 and 3 again, with 25,000 records at least."""
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, 1)
    follower = next(each for each in (0, 1, 2) if each != cluster.leader(_TOPIC))
    with VerifiedLoad(cluster, _TOPIC) as load:
        load.wait_for_more(12_000)
        cluster.kill(follower)
        cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2} - {follower})
        load.wait_for_more(7_000)
        cluster.start(follower)
        cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2})
        load.wait_for_more(6_000)
        load.verify()
    assert len(load.acknowledged) >= 25_000


def test_leader_that_is_paused_beyond_its_session_is_fenced(kafka_cluster: Cluster) -> None:
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, 1)
    # A paused broker keeps its connections: clients wait this long for its responses, a minute by default.
    patience = {"socket.timeout.ms": 2000}
    with VerifiedLoad(cluster, _TOPIC, patience, patience) as load:
        for _ in range(3):
            load.wait_for_more(200)
            leader = cluster.leader(_TOPIC)
            cluster.pause(leader)
            cluster.wait_for_leader(_TOPIC, among={0, 1, 2} - {leader})
            load.wait_for_more(200)
            cluster.resume(leader)
            cluster.wait_for_isr(_TOPIC, 0, {0, 1, 2})
        load.verify()
    assert_no_traceback(cluster)


def test_many_replicas(kafka_cluster: Cluster) -> None:
    """Kafka's replica scale test: 50 topics of 34 partitions with 3 replicas."""
    cluster = kafka_cluster
    for number in range(50):
        cluster.create_topic(f"replicas-{number}", 34)
    cluster.create_topic(_TOPIC, _PARTITIONS)
    with VerifiedLoad(cluster, _TOPIC) as load:
        load.wait_for_more()
        cluster.kill(cluster.controller())
        load.wait_for_more()
        cluster.heal(timeout=120)
        load.wait_for_more()
        load.verify()
    cluster.delete_topics(f"replicas-{number}" for number in range(50))
