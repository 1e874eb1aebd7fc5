from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.classic_member import (
    HEARTBEAT,
    LEAVE,
    join,
    join_as_new,
    stable_leader,
    versions_up_to,
)
from tests.unit.handlers.conftest import StartNode


@pytest.fixture
def node(start_node: StartNode) -> Node:
    node = start_node({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"})
    assert node.ask("FindCoordinator", coordinator_keys=["g"]).coordinators[0].error_code is ErrorCode.none
    return node


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_syncs_beats_and_leaves_at_every_version(node: Node, version: int) -> None:
    joined = stable_leader(node, version)
    assert joined.generation_id == 1
    assert joined.leader == joined.member_id
    assert joined.protocol_name == "range"
    assert [member.metadata for member in joined.members] == [b"m"]
    beat = {"group_id": "g", "generation_id": 1, "member_id": joined.member_id}
    assert node.ask("Heartbeat", versions_up_to(HEARTBEAT, version), **beat).error_code is ErrorCode.none
    leave_version = versions_up_to(LEAVE, version)
    if leave_version < 3:
        left = node.ask("LeaveGroup", leave_version, group_id="g", member_id=joined.member_id)
    else:
        left = node.ask(
            "LeaveGroup",
            leave_version,
            group_id="g",
            members=[{"member_id": joined.member_id, "group_instance_id": None}],
        )
        assert left.members[0].error_code is ErrorCode.none
    assert left.error_code is ErrorCode.none
    assert node.ask("Heartbeat", **beat).error_code is ErrorCode.unknown_member_id


@pytest.mark.parametrize("version", range(10))
def test_an_error_of_a_join_is_answered_at_every_version(node: Node, version: int) -> None:
    answer = join(node, version, session_timeout=timedelta(milliseconds=1)).result()
    assert answer.error_code is ErrorCode.invalid_session_timeout
    assert (answer.generation_id, answer.leader, answer.members) == (-1, "", ())
    assert answer.protocol_name == (None if version >= 7 else "")


def test_a_second_member_waits_until_the_first_has_joined_again(node: Node) -> None:
    first = stable_leader(node)
    second = join_as_new(node)
    assert not second.is_done
    beat = {"group_id": "g", "generation_id": 1, "member_id": first.member_id}
    assert node.ask("Heartbeat", **beat).error_code is ErrorCode.rebalance_in_progress
    again = join(node, member_id=first.member_id)
    assert again.result().generation_id == second.result().generation_id == 2
    assert len(again.result().members) == 2
    assert second.result().members == ()


def test_a_member_without_a_sign_of_life_is_removed(node: Node) -> None:
    stable_leader(node)
    node.advance(10_001)
    described = node.ask("DescribeGroups", groups=["g"]).groups[0]
    assert (described.group_state, described.members) == ("Empty", ())


def test_a_leave_of_several_members_has_an_error_for_each(node: Node) -> None:
    joined = stable_leader(node)
    members = [{"member_id": "unknown"}, {"member_id": joined.member_id}]
    answer = node.ask("LeaveGroup", group_id="g", members=members)
    assert [each.error_code for each in answer.members] == [ErrorCode.unknown_member_id, ErrorCode.none]


@pytest.mark.parametrize("version", range(3))
def test_a_leave_of_one_member_has_its_error(node: Node, version: int) -> None:
    stable_leader(node)
    answer = node.ask("LeaveGroup", version, group_id="g", member_id="unknown")
    assert answer.error_code is ErrorCode.unknown_member_id


@pytest.mark.parametrize("name", ["Heartbeat", "SyncGroup", "LeaveGroup"])
def test_a_group_without_a_name_is_invalid(node: Node, name: str) -> None:
    assert node.ask(name, group_id="").error_code is ErrorCode.invalid_group_id


def test_before_the_topic_of_the_groups_exists_there_is_no_coordinator(start_node: StartNode) -> None:
    node = start_node()
    beat: dict[str, Any] = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    assert node.ask("Heartbeat", **beat).error_code is ErrorCode.not_coordinator
    assert join(node).result().error_code is ErrorCode.not_coordinator
    assert join(node, group_id="").result().error_code is ErrorCode.invalid_group_id
