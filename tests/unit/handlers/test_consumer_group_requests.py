from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.classic_member import stable_leader
from tests.unit.handlers.conftest import StartNode


@pytest.fixture
def node(start_node: StartNode) -> Node:
    node = start_node({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"})
    node.ask("FindCoordinator", coordinator_keys=["g"])
    node.create_topic("t", 2)
    return node


def beat(node: Node, version: int, **fields: Any) -> Any:
    body = {
        "group_id": "c",
        "member_id": "" if version == 0 else "m1",
        "member_epoch": 0,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": timedelta(seconds=30),
        "subscribed_topic_names": ("t",),
        "server_assignor": None,
        "topic_partitions": (),
    }
    return node.ask("ConsumerGroupHeartbeat", version, **body | fields)


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_joins_and_leaves_at_every_version(node: Node, version: int) -> None:
    joined = beat(node, version)
    assert joined.error_code is ErrorCode.none
    assert joined.member_epoch > 0
    assert joined.heartbeat_interval == timedelta(seconds=5)
    topic_id = node.image.topics["t"].topic_id
    (assigned,) = joined.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (topic_id, (0, 1))
    left = beat(node, version, member_id=joined.member_id, member_epoch=-1)
    assert (left.error_code, left.member_epoch) == (ErrorCode.none, -1)


def test_an_error_comes_with_its_message(node: Node) -> None:
    answer = beat(node, 1, group_id="")
    assert answer.error_code is ErrorCode.invalid_request
    assert answer.error_message == "GroupId can't be empty."


@pytest.mark.parametrize("version", [0, 1])
def test_a_consumer_group_is_described_at_every_version(node: Node, version: int) -> None:
    beat(node, 1)
    group = node.ask("ConsumerGroupDescribe", version, group_ids=["c"]).groups[0]
    assert (group.error_code, group.group_state, group.assignor_name) == (ErrorCode.none, "Stable", "uniform")
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == ("m1", "test", "/localhost")
    assert member.assignment.topic_partitions[0].topic_name == "t"
    assert member.assignment.topic_partitions[0].partitions == (0, 1)
    if version >= 1:
        assert member.member_type == 1


def test_a_group_of_the_other_protocol_is_not_found(node: Node) -> None:
    beat(node, 1)
    stable_leader(node)
    codes = [each.error_code for each in node.ask("ConsumerGroupDescribe", group_ids=["g", "x", ""]).groups]
    assert codes == [ErrorCode.group_id_not_found] * 2 + [ErrorCode.invalid_group_id]
    assert node.ask("DescribeGroups", groups=["c"]).groups[0].error_code is ErrorCode.group_id_not_found


def test_a_deleted_topic_takes_its_offsets_along(node: Node) -> None:
    topic_id = node.image.topics["t"].topic_id
    offset = {"partition_index": 0, "committed_offset": 4, "committed_metadata": None}
    topics = [{"topic_id": topic_id, "partitions": [offset]}]
    none: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""}
    node.ask("OffsetCommit", group_id="g", topics=topics, **none)
    node.ask("DeleteTopics", topics=[{"name": "t"}])
    (group,) = node.ask("OffsetFetch", groups=[{"group_id": "g", "topics": None}]).groups
    assert group.topics == ()
