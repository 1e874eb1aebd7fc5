from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode

from barnabas.metadata.image import Address, BrokerImage

NOT_REQUESTED = -2147483648


def names(response: Any) -> list[str]:
    return [topic.name for topic in response.topics]


def add_broker(node: Node, number: int, **endpoints: Address) -> None:
    image = node.cluster.image
    brokers = {**image.brokers, number: BrokerImage(number, endpoints, None, 1)}
    node.cluster.image = replace(image, brokers=brokers)


def give_leader(node: Node, topic: str, leader: int) -> None:
    """Let partition 0 be led by `leader`, with replicas on it and on broker 0."""
    image = node.cluster.image
    old = image.topics[topic]
    moved = old.partitions[0]._replace(leader=leader, replicas=(leader, 0), isr=(leader,))
    new = replace(old, partitions={**old.partitions, 0: moved})
    node.cluster.image = replace(
        image, topics={**image.topics, topic: new}, topic_by_id={**image.topic_by_id, new.topic_id: new}
    )


@pytest.mark.parametrize("version", range(1, 14))
def test_null_asks_for_all_topics(node: Node, version: int) -> None:
    node.create_topic("a")
    node.create_topic("b", 3)

    response = node.ask("Metadata", version, topics=None)

    assert names(response) == ["a", "b"]
    assert [len(topic.partitions) for topic in response.topics] == [1, 3]


def test_empty_list_asks_for_all_topics_in_version_0_and_for_none_later(node: Node) -> None:
    node.create_topic("a")

    assert names(node.ask("Metadata", 0, topics=[])) == ["a"]
    assert names(node.ask("Metadata", 1, topics=[])) == []


def test_partitions_have_their_leader(node: Node) -> None:
    node.create_topic("a", 2)

    (topic,) = node.ask("Metadata", topics=[{"name": "a", "topic_id": None}]).topics

    assert topic.error_code is ErrorCode.none
    assert topic.topic_id == node.image.topics["a"].topic_id
    assert not topic.is_internal
    assert topic.topic_authorized_operations == NOT_REQUESTED
    for number, partition in enumerate(topic.partitions):
        assert (partition.partition_index, partition.leader_id, partition.leader_epoch) == (number, 0, 0)
        assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ((0,), (0,), ())


def test_brokers_have_the_addresses_of_the_client_s_listener(start_node: StartNode) -> None:
    node = start_node(
        {
            "listeners": "INSIDE://localhost:9092,OUTSIDE://localhost:9093",
            "advertised.listeners": "INSIDE://in:9092,OUTSIDE://out:19093",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
            "node.id": "7",
            "broker.rack": "r7",
        }
    )
    node.listener = "OUTSIDE"

    response = node.ask("Metadata", topics=[])

    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port, broker.rack) == (7, "out", 19093, "r7")
    assert (response.cluster_id, response.controller_id) == ("the-cluster", 7)


def test_by_topic_id(node: Node) -> None:
    node.create_topic("a")
    known, unknown = node.image.topics["a"].topic_id, UUID(int=99)

    response = node.ask(
        "Metadata", 12, topics=[{"topic_id": each, "name": None} for each in (unknown, known, known)]
    )

    assert [(topic.name, topic.topic_id, topic.error_code) for topic in response.topics] == [
        (None, unknown, ErrorCode.unknown_topic_id),
        ("a", known, ErrorCode.none),
    ]


@pytest.mark.parametrize("version", [10, 11])
def test_topic_ids_are_refused_before_version_12(node: Node, version: int) -> None:
    response = node.ask("Metadata", version, topics=[{"topic_id": UUID(int=99), "name": None}])

    assert [(topic.name, topic.error_code) for topic in response.topics] == [("", ErrorCode.invalid_request)]


def test_unknown_and_illegal_names(start_node: StartNode) -> None:
    node = start_node({"auto.create.topics.enable": "false"})

    response = node.ask("Metadata", topics=[{"name": name} for name in ("none", "bad name", "none")])

    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("none", ErrorCode.unknown_topic_or_partition),
        ("bad name", ErrorCode.invalid_topic_exception),
    ]


@pytest.mark.parametrize("version", [0, 3, 4, 13])
def test_missing_topics_are_created_and_in_the_same_answer(start_node: StartNode, version: int) -> None:
    node = start_node({"num.partitions": "3"})

    (topic,) = node.ask("Metadata", version, topics=[{"name": "fresh"}]).topics

    assert (topic.name, topic.error_code, len(topic.partitions)) == ("fresh", ErrorCode.none, 3)
    assert node.partitions.get("fresh", 2).topic_partition in node.logs


def test_deleted_topic_does_not_come_back_at_once(node: Node) -> None:
    node.create_topic("old")
    node.create_topic("by-id")
    number = node.image.topics["by-id"].topic_id
    assert [each.error_code for each in node.ask("DeleteTopics", 6, topics=[{"name": "old"}]).responses] == [
        0
    ]
    node.ask("DeleteTopics", 6, topics=[{"name": None, "topic_id": number}])

    answer = node.ask("Metadata", topics=[{"name": "old"}, {"name": "by-id"}, {"name": "fresh"}])

    assert [(each.name, each.error_code) for each in answer.topics] == [
        ("old", ErrorCode.unknown_topic_or_partition),
        ("by-id", ErrorCode.unknown_topic_or_partition),
        ("fresh", ErrorCode.none),
    ]
    assert set(node.image.topics) == {"fresh"}
    node.clock.advance(1000)
    (topic,) = node.ask("Metadata", topics=[{"name": "old"}]).topics
    assert (topic.error_code, len(topic.partitions)) == (ErrorCode.none, 1)


def test_topic_that_could_not_be_deleted_can_be_created(node: Node) -> None:
    node.ask("DeleteTopics", 6, topics=[{"name": "unknown"}])
    (topic,) = node.ask("Metadata", topics=[{"name": "unknown"}]).topics
    assert topic.error_code is ErrorCode.none


def test_deleted_topic_can_be_created_by_name_at_once(node: Node) -> None:
    node.create_topic("old")
    node.ask("DeleteTopics", 6, topics=[{"name": "old"}])
    node.create_topic("old")
    (topic,) = node.ask("Metadata", topics=[{"name": "old"}]).topics
    assert topic.error_code is ErrorCode.none


@pytest.mark.parametrize("name", ["bad name", "__consumer_offsets"])
def test_what_may_not_be_created_is_not(node: Node, name: str) -> None:
    (topic,) = node.ask("Metadata", topics=[{"name": name}]).topics

    assert topic.error_code
    assert topic.is_internal == (name == "__consumer_offsets")
    assert not node.image.topics


def test_topic_that_cannot_be_created_says_why(node: Node) -> None:
    node.create_topic("a.b")

    (topic,) = node.ask("Metadata", topics=[{"name": "a_b"}]).topics

    assert topic.error_code is ErrorCode.invalid_topic_exception


def test_client_can_forbid_creation(node: Node) -> None:
    (topic,) = node.ask("Metadata", topics=[{"name": "fresh"}], allow_auto_topic_creation=False).topics

    assert topic.error_code is ErrorCode.unknown_topic_or_partition
    assert not node.image.topics


def test_dead_leader_is_not_available(node: Node) -> None:
    node.create_topic("a")
    give_leader(node, "a", 5)

    (partition,) = node.ask("Metadata", topics=[{"name": "a"}]).topics[0].partitions

    assert (partition.error_code, partition.leader_id) == (ErrorCode.leader_not_available, -1)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ((5, 0), (5,), (5,))


def test_leader_without_the_client_s_listener(node: Node) -> None:
    node.create_topic("a")
    add_broker(node, 5, OTHER=Address("other", 1))
    give_leader(node, "a", 5)

    errors = {
        version: node.ask("Metadata", version, topics=[{"name": "a"}]).topics[0].partitions[0].error_code
        for version in (5, 6)
    }

    assert errors == {5: ErrorCode.leader_not_available, 6: ErrorCode.listener_not_found}
    assert [broker.node_id for broker in node.ask("Metadata", topics=[]).brokers] == [0]


def test_version_0_shows_living_replicas_only(node: Node) -> None:
    node.create_topic("a")
    give_leader(node, "a", 5)
    image = node.cluster.image
    topic = image.topics["a"]
    led = replace(topic, partitions={0: topic.partitions[0]._replace(leader=0)})
    node.cluster.image = replace(image, topics={"a": led})

    (partition,) = node.ask("Metadata", 0, topics=[]).topics[0].partitions

    assert (partition.error_code, partition.leader_id) == (ErrorCode.replica_not_available, 0)
    assert (partition.replica_nodes, partition.isr_nodes) == ((0,), ())


def test_authorized_operations_if_requested(node: Node) -> None:
    node.create_topic("a")

    described = node.ask(
        "Metadata",
        10,
        topics=None,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    silent = node.ask("Metadata", 10, topics=None)

    topic_bits, cluster_bits = 0b1101_1111_1000, 0b1_1111_1010_0000
    assert (described.topics[0].topic_authorized_operations, described.cluster_authorized_operations) == (
        topic_bits,
        cluster_bits,
    )
    assert (silent.topics[0].topic_authorized_operations, silent.cluster_authorized_operations) == (
        NOT_REQUESTED,
    ) * 2
