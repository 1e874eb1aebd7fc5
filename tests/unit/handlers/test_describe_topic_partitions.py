from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode


@pytest.fixture
def node(start_node: StartNode) -> Node:
    node = start_node({"max.request.partition.size.limit": "5"})
    for name, partitions in (("b", 3), ("a", 2), ("c", 4)):
        node.create_topic(name, partitions)
    return node


def shown(response: Any) -> dict[str, list[int]]:
    return {topic.name: [each.partition_index for each in topic.partitions] for topic in response.topics}


def cursor(response: Any) -> tuple[str, int] | None:
    next_one = response.next_cursor
    return None if next_one is None else (next_one.topic_name, next_one.partition_index)


def ask(node: Node, **body: Any) -> Any:
    return node.ask("DescribeTopicPartitions", **body)


def test_topics_come_in_order_of_their_names(node: Node) -> None:
    response = ask(node, topics=[{"name": name} for name in ("b", "a", "b")])

    assert shown(response) == {"a": [0, 1], "b": [0, 1, 2]}
    assert cursor(response) is None


def test_pages_follow_each_other_to_the_end(node: Node) -> None:
    pages: list[dict[str, list[int]]] = []
    position: tuple[str, int] | None = None
    while True:
        at = None if position is None else {"topic_name": position[0], "partition_index": position[1]}
        response = ask(node, cursor=at, response_partition_limit=2)
        pages.append(shown(response))
        position = cursor(response)
        if position is None:
            break

    assert pages == [{"a": [0, 1]}, {"b": [0, 1]}, {"b": [2], "c": [0]}, {"c": [1, 2]}, {"c": [3]}]


@pytest.mark.parametrize("limit", [2000, 5])
def test_page_is_limited_by_the_broker_too(node: Node, limit: int) -> None:
    response = ask(node, response_partition_limit=limit)

    assert shown(response) == {"a": [0, 1], "b": [0, 1, 2]}
    assert cursor(response) == ("c", 0)


@pytest.mark.parametrize("limit", [0, -1])
def test_page_has_one_partition_at_least(node: Node, limit: int) -> None:
    assert shown(ask(node, response_partition_limit=limit)) == {"a": [0]}


def test_cursor_on_a_deleted_topic_goes_on_with_the_next(node: Node) -> None:
    response = ask(node, cursor={"topic_name": "aa", "partition_index": 7}, response_partition_limit=1)

    assert shown(response) == {"b": [0]}


@pytest.mark.parametrize("at", [("z", 0), ("a", -1)])
def test_bad_cursor_is_refused(node: Node, at: tuple[str, int]) -> None:
    position = {"topic_name": at[0], "partition_index": at[1]}

    response = ask(node, topics=[{"name": "a"}, {"name": "b"}], cursor=position)

    assert [topic.error_code for topic in response.topics] == [ErrorCode.invalid_request] * 2


def test_unknown_and_illegal_names(node: Node) -> None:
    response = ask(node, topics=[{"name": "bad name"}, {"name": "none"}])

    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("bad name", ErrorCode.invalid_topic_exception),
        ("none", ErrorCode.unknown_topic_or_partition),
    ]


def test_partition_is_described_in_full(node: Node) -> None:
    (topic,) = ask(node, topics=[{"name": "a"}]).topics

    partition = topic.partitions[1]
    assert topic.topic_id == node.image.topics["a"].topic_id
    assert topic.topic_authorized_operations == 0b1101_1111_1000
    assert (partition.leader_id, partition.leader_epoch) == (0, 0)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ((0,), (0,), ())
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((), ())


def test_eligible_leader_replicas_and_failed_log_directories_are_shown(node: Node) -> None:
    node.create_topic("t")
    path = "/brokers/topics/t/partitions/0/state"
    state = b'{"version":1,"leader":0,"leader_epoch":1,"isr":[0],"elr":[1,2],"last_known_elr":[3]}'
    node.store.set(path, state)
    node.cluster.refresh([path])
    topic_id = node.image.topics["t"].topic_id
    node._replication.membership.report_offline(frozenset({(topic_id, 0)}))
    (topic,) = node.ask("DescribeTopicPartitions", topics=[{"name": "t"}]).topics
    (partition,) = topic.partitions
    assert partition.eligible_leader_replicas == (1, 2)
    assert partition.last_known_elr == (3,)
    assert partition.offline_replicas == (0,)
    (described,) = node.ask("Metadata", topics=[{"name": "t"}]).topics
    assert described.partitions[0].offline_replicas == (0,)
