"""Three brokers in processes of their own on one metadata store: leaders are killed and stopped under load.

A producer with acks=all writes all the time. Nothing that was acknowledged is lost or doubled, and the
replicas are equal in the end, byte by byte.
"""

import time

import pytest
from tests.faults.replicated_topic import (
    ALL,
    PARTITIONS,
    TOPIC,
    Load,
    assert_logs_are_equal,
    assert_no_traceback,
    leaders,
    read_all,
    wait_for_isr,
)
from tests.patience import PATIENCE

from barnabas.testing import Cluster

pytestmark = [
    pytest.mark.needs("confluent_kafka"),
    pytest.mark.kafka_cluster(
        config={
            "min.insync.replicas": 2,
            "offsets.topic.num.partitions": 3,
            "broker.session.timeout.ms": 2000,
        }
    ),
]


def test_leaders_are_killed_stopped_and_return(kafka_cluster: Cluster) -> None:
    cluster = kafka_cluster
    cluster.create_topic(TOPIC, PARTITIONS)
    wait_for_isr(cluster, ALL)
    assert leaders(cluster) == ALL
    load = Load(cluster.bootstrap_servers)
    try:
        load.wait_for_more()
        killed = cluster.leader(TOPIC, 0)
        cluster.kill(killed)
        wait_for_isr(cluster, ALL - {killed})
        load.wait_for_more()
        cluster.start(killed)
        wait_for_isr(cluster, ALL)
        stopped = cluster.leader(TOPIC, 1)
        cluster.stop(stopped)
        assert stopped not in leaders(cluster)
        load.wait_for_more()
        cluster.start(stopped)
        wait_for_isr(cluster, ALL)
        load.wait_for_more()
    finally:
        load.stop()
    assert load.errors == []
    values = read_all(cluster.bootstrap_servers, len(load.acknowledged))
    assert sorted(values) == sorted(load.acknowledged)
    assert_logs_are_equal(cluster)
    assert_no_traceback(cluster)


def test_leaders_are_isolated_paused_and_expired(kafka_cluster: Cluster) -> None:
    cluster = kafka_cluster
    cluster.create_topic(TOPIC, PARTITIONS)
    load = Load(cluster.bootstrap_servers)
    try:
        load.wait_for_more()
        isolated = cluster.leader(TOPIC, 0)
        cluster.isolate(isolated, from_=["brokers", "store"])
        cluster.wait_for_leader(TOPIC, 0, among=ALL - {isolated})
        load.wait_for_more()
        cluster.heal()
        expired = cluster.leader(TOPIC, 1)
        cluster.expire_session(expired)
        cluster.wait_for_leader(TOPIC, 1, among=ALL - {expired})
        cluster.heal()
        paused = cluster.leader(TOPIC, 2)
        cluster.pause(paused)
        cluster.wait_for_leader(TOPIC, 2, among=ALL - {paused})
        cluster.resume(paused)
        wait_for_isr(cluster, ALL)
        load.wait_for_more()
    finally:
        load.stop()
    assert load.errors == []
    values = read_all(cluster.bootstrap_servers, len(load.acknowledged))
    assert sorted(values) == sorted(load.acknowledged)
    assert_logs_are_equal(cluster)
    assert_no_traceback(cluster)


def test_follower_that_no_broker_reaches_leaves_the_isr(kafka_cluster: Cluster) -> None:
    """The leader proposes it to the controller; the follower keeps its session."""
    from confluent_kafka import Producer

    cluster = kafka_cluster
    leader = cluster.controller()
    second, third = sorted(ALL - {leader})
    cluster.create_topic(TOPIC, assignment=[[leader, second, third]])
    cluster.isolate(third, from_=[leader, second])
    producer = Producer({"bootstrap.servers": cluster.brokers[leader].bootstrap_servers})
    producer.produce(TOPIC, b"x", partition=0)
    producer.poll(0)
    cluster.wait_for_isr(TOPIC, 0, [leader, second])
    assert producer.flush(PATIENCE) == 0
    cluster.heal()
    assert set(cluster.isr(TOPIC, 0)) == ALL


def test_broker_that_is_isolated_from_clients_answers_none_and_stays_in_sync(kafka_cluster: Cluster) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    cluster = kafka_cluster
    cluster.create_topic(TOPIC, assignment=[[0, 1, 2]])
    cluster.isolate(2, from_="clients")
    client = AdminClient({"bootstrap.servers": cluster.brokers[2].bootstrap_servers, "log_level": 0})
    with pytest.raises(KafkaException):
        client.list_topics(timeout=0.5)
    assert set(cluster.isr(TOPIC, 0)) == ALL
    cluster.heal()
    assert TOPIC in client.list_topics(timeout=PATIENCE).topics


def test_too_few_replicas_in_sync_refuse_writes(kafka_cluster: Cluster) -> None:
    from confluent_kafka import Producer

    cluster = kafka_cluster
    cluster.create_topic(TOPIC)
    stopped = cluster.shrink_below_min_isr(TOPIC)
    assert cluster.isr(TOPIC) == [cluster.leader(TOPIC)]
    assert {cluster.leader(TOPIC), *stopped} == ALL
    outcome: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "retries": 0, "log_level": 0})
    producer.produce(TOPIC, b"x", on_delivery=lambda error, message: outcome.append(error.name()))  # type: ignore[union-attr]
    producer.flush(PATIENCE)
    assert outcome == ["NOT_ENOUGH_REPLICAS"]
    with pytest.raises(ValueError, match="the id of another broker"):
        cluster.isolate(0, from_="everyone")


def test_commands_to_a_broker_that_cannot_answer_are_refused_at_once(kafka_cluster: Cluster) -> None:
    kafka_cluster.pause(1)
    before = time.monotonic()
    with pytest.raises(RuntimeError, match="paused"):
        kafka_cluster.expire_session(1)
    kafka_cluster.kill(1)
    with pytest.raises(RuntimeError, match="not running"):
        kafka_cluster.expire_session(1)
    assert time.monotonic() - before < PATIENCE / 2
    assert "1 stopped" in repr(kafka_cluster)
