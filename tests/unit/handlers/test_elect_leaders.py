from typing import Any

import pytest
from tests.fakes.node import Node
from tests.unit.controller.conftest import register

from barnabas.base.errors import ErrorCode, NotController
from barnabas.controller.requests import NewTopic
from barnabas.metadata import paths

PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def led_elsewhere(node: Node) -> Node:
    """t-0 prefers broker 1 and is led by broker 0. u-0 is on broker 0 alone."""
    register(node.cluster, 1)
    topics = [NewTopic("t", assignments=((0, (0, 1)),)), NewTopic("u", assignments=((0, (0,)),))]
    assert all(not each.error for each in node.parts.topics.create_topics(topics))
    response = node.ask(
        "AlterPartitionReassignments",
        topics=[{"name": "t", "partitions": [{"partition_index": 0, "replicas": [1, 0]}]}],
    )
    assert not response.error_code
    return node


def elect(
    node: Node, partitions: dict[str, list[int]] | None, kind: int = PREFERRED, version: int = 2
) -> Any:
    wanted = None
    if partitions is not None:
        wanted = [{"topic": name, "partitions": numbers} for name, numbers in partitions.items()]
    fields = {"election_type": kind} if version else {}
    return node.ask("ElectLeaders", version, topic_partitions=wanted, **fields)


def errors(response: Any) -> dict[str, list[tuple[int, ErrorCode]]]:
    return {
        topic.topic: [(each.partition_id, each.error_code) for each in topic.partition_result]
        for topic in response.replica_election_results
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_preferred_leader_is_elected_and_then_not_needed(led_elsewhere: Node, version: int) -> None:
    node = led_elsewhere
    assert errors(elect(node, {"t": [0]}, version=version)) == {"t": [(0, ErrorCode.none)]}
    assert node.image.topics["t"].partitions[0].leader == 1
    response = elect(node, {"t": [0, 7], "v": [0]}, version=version)
    assert errors(response) == {
        "t": [(0, ErrorCode.election_not_needed), (7, ErrorCode.unknown_topic_or_partition)],
        "v": [(0, ErrorCode.unknown_topic_or_partition)],
    }
    message = response.replica_election_results[0].partition_result[0].error_message
    assert message == "Leader election not needed for topic partition."


def test_all_partitions_leave_out_those_that_need_no_election(led_elsewhere: Node) -> None:
    assert errors(elect(led_elsewhere, None)) == {"t": [(0, ErrorCode.none)], "u": []}
    assert errors(elect(led_elsewhere, None, UNCLEAN)) == {"t": [], "u": []}


def test_preferred_replica_out_of_sync_is_not_available(node: Node) -> None:
    register(node.cluster, 1)
    (created,) = node.parts.topics.create_topics([NewTopic("t", assignments=((0, (0,)),))])
    assert not created.error
    node.ask(
        "AlterPartitionReassignments",
        topics=[{"name": "t", "partitions": [{"partition_index": 0, "replicas": [1, 0]}]}],
    )
    assert errors(elect(node, {"t": [0]})) == {"t": [(0, ErrorCode.preferred_leader_not_available)]}


def test_unknown_type_is_an_invalid_request(led_elsewhere: Node) -> None:
    response = elect(led_elsewhere, {"t": [0]}, 7)
    assert response.error_code is ErrorCode.invalid_request
    assert errors(response) == {"t": [(0, ErrorCode.invalid_request)]}


def test_broker_that_is_not_the_controller_says_so(led_elsewhere: Node) -> None:
    node = led_elsewhere
    node.store.delete(paths.CONTROLLER)
    node.cluster.refresh([paths.CONTROLLER])
    with pytest.raises(NotController):  # Its request is forwarded.
        elect(node, {"t": [0]})
