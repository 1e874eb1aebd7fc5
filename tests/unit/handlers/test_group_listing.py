import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.classic_member import stable_leader
from tests.unit.handlers.conftest import StartNode


@pytest.fixture
def node(start_node: StartNode) -> Node:
    node = start_node({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "5"})
    node.ask("FindCoordinator", coordinator_keys=["g"])
    node.create_topic("t", 2)
    offset = {"partition_index": 1, "committed_offset": 7, "committed_metadata": None}
    topic = {"name": "t", "partitions": [offset]}
    node.ask(
        "OffsetCommit", 9, group_id="alone", generation_id_or_member_epoch=-1, member_id="", topics=[topic]
    )
    stable_leader(node)
    return node


@pytest.mark.parametrize("version", range(6))
def test_all_groups_are_listed_at_every_version(node: Node, version: int) -> None:
    answer = node.ask("ListGroups", version)
    assert answer.error_code is ErrorCode.none
    assert {(group.group_id, group.protocol_type) for group in answer.groups} == {
        ("g", "consumer"),
        ("alone", ""),
    }
    if version >= 4:
        assert {group.group_state for group in answer.groups} == {"Stable", "Empty"}
    if version >= 5:
        assert {group.group_type for group in answer.groups} == {"classic"}


def test_lists_are_filtered_by_state_and_type(node: Node) -> None:
    def listed(states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
        answer = node.ask("ListGroups", states_filter=states, types_filter=types)
        return sorted(group.group_id for group in answer.groups)

    assert listed(states=("stable",)) == ["g"]
    assert listed(states=("Empty", "Stable"), types=("Classic",)) == ["alone", "g"]
    assert listed(types=("consumer",)) == []
    assert listed(states=("nonsense",)) == []


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described_at_every_version(node: Node, version: int) -> None:
    group = node.ask("DescribeGroups", version, groups=["g"]).groups[0]
    assert (group.error_code, group.group_state) == (ErrorCode.none, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    (member,) = group.members
    assert (member.client_id, member.client_host) == ("test", "/localhost")
    assert (member.member_metadata, member.member_assignment) == (b"m", b"all")


def test_authorized_operations_if_requested(node: Node) -> None:
    described = node.ask("DescribeGroups", groups=["g"], include_authorized_operations=True).groups[0]
    assert described.authorized_operations == sum(1 << bit for bit in (3, 6, 8, 10, 11))
    assert node.ask("DescribeGroups", groups=["g"]).groups[0].authorized_operations == -(1 << 31)


@pytest.mark.parametrize("version", range(7))
def test_unknown_group_is_dead(node: Node, version: int) -> None:
    group = node.ask("DescribeGroups", version, groups=["unknown"]).groups[0]
    assert group.group_state == "Dead"
    assert group.error_code is (ErrorCode.group_id_not_found if version >= 6 else ErrorCode.none)
    empty = node.ask("DescribeGroups", version, groups=[""]).groups[0]
    assert empty.error_code is ErrorCode.invalid_group_id


def test_groups_are_deleted_with_their_offsets_unless_they_have_members(node: Node) -> None:
    answer = node.ask("DeleteGroups", groups_names=["alone", "g", "unknown", ""])
    assert {each.group_id: each.error_code for each in answer.results} == {
        "alone": ErrorCode.none,
        "g": ErrorCode.non_empty_group,
        "unknown": ErrorCode.group_id_not_found,
        "": ErrorCode.invalid_group_id,
    }
    assert [group.group_id for group in node.ask("ListGroups").groups] == ["g"]
    fetched = node.ask("OffsetFetch", 7, group_id="alone", topics=None)
    assert (fetched.error_code, fetched.topics) == (ErrorCode.none, ())
