"""AlterPartitionReassignments and ListPartitionReassignments."""

from typing import Any

import pytest
from tests.fakes.node import Node
from tests.unit.controller.conftest import register

from barnabas.base.errors import ErrorCode, NotController
from barnabas.metadata import paths


@pytest.fixture
def two_brokers(node: Node) -> Node:
    register(node.cluster, 1)
    node.create_topic("t", 1, min_insync_replicas="1")
    node.create_topic("u", 1)
    return node


def alter(node: Node, replicas: list[int] | None, version: int = 1, topic: str = "t", **fields: Any) -> Any:
    partition = {"partition_index": 0, "replicas": replicas}
    topics = [{"name": topic, "partitions": [partition]}]
    return node.ask("AlterPartitionReassignments", version, topics=topics, **fields)


def listed(node: Node, topics: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    response = node.ask("ListPartitionReassignments", 0, topics=topics)
    assert response.error_code is ErrorCode.none
    return {
        topic.name: {
            each.partition_index: (each.replicas, each.adding_replicas, each.removing_replicas)
            for each in topic.partitions
        }
        for topic in response.topics
    }


def error_of(response: Any) -> tuple[ErrorCode, ErrorCode, str | None]:
    ((partition,),) = (topic.partitions for topic in response.responses)
    return response.error_code, partition.error_code, partition.error_message


def replicas_of(node: Node) -> list[int]:
    return list(node.image.topics["t"].partitions[0].replicas)


@pytest.mark.parametrize("version", [0, 1])
def test_reassignment_is_begun_listed_and_cancelled(two_brokers: Node, version: int) -> None:
    node = two_brokers
    own = replicas_of(node)[0]
    other = 1 - own
    assert listed(node) == {}
    assert error_of(alter(node, [other], version)) == (ErrorCode.none, ErrorCode.none, None)
    ongoing = {"t": {0: ((other, own), (other,), (own,))}}
    assert listed(node) == ongoing
    wanted = {"name": "t", "partition_indexes": [0, 3]}
    absent = [{"name": "u", "partition_indexes": [0]}, {"name": "v", "partition_indexes": [0]}]
    assert listed(node, [wanted, *absent]) == ongoing
    assert listed(node, absent) == {}
    assert error_of(alter(node, None, version)) == (ErrorCode.none, ErrorCode.none, None)
    assert listed(node) == {}
    assert replicas_of(node) == [own]
    _, error, message = error_of(alter(node, None, version))
    assert (error, message) == (ErrorCode.no_reassignment_in_progress, None)


def test_replication_factor_may_be_fixed(two_brokers: Node) -> None:
    response = alter(two_brokers, [0, 1], allow_replication_factor_change=False)
    assert not response.allow_replication_factor_change
    assert error_of(response)[1:] == (
        ErrorCode.invalid_replication_factor,
        "The replication factor is changed from 1 to 2",
    )


def test_order_of_results_is_that_of_the_request(two_brokers: Node) -> None:
    topics = [
        {"name": "u", "partitions": [{"partition_index": 5, "replicas": [0]}]},
        {
            "name": "t",
            "partitions": [
                {"partition_index": 0, "replicas": [0, 9]},
                {"partition_index": 0, "replicas": [0, 1]},
            ],
        },
    ]
    response = two_brokers.ask("AlterPartitionReassignments", 1, topics=topics)
    found = [
        (topic.name, each.partition_index, each.error_code)
        for topic in response.responses
        for each in topic.partitions
    ]
    assert found == [
        ("u", 5, ErrorCode.unknown_topic_or_partition),
        ("t", 0, ErrorCode.invalid_replica_assignment),
        ("t", 0, ErrorCode.none),
    ]


def test_broker_that_is_not_the_controller_says_so(two_brokers: Node) -> None:
    node = two_brokers
    node.store.delete(paths.CONTROLLER)
    node.cluster.refresh([paths.CONTROLLER])
    with pytest.raises(NotController):  # Its request is forwarded.
        alter(node, [0])
    with pytest.raises(NotController):
        node.ask("ListPartitionReassignments", 0, topics=None)
