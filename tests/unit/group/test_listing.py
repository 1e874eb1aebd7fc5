"""ListGroups, and DescribeGroups of a group that does not exist."""

import pytest
from tests.unit.group.offsets.offsets_shard import SaidGroup

from barnabas.base.errors import ErrorCode, GroupIdNotFound
from barnabas.group.group import CLASSIC, CONSUMER
from barnabas.group.groups import Groups
from barnabas.group.listing import describe_absent_group, list_groups
from barnabas.wire import Reply, encode_response


@pytest.fixture
def groups() -> Groups:
    groups = Groups()
    for group_id, group_type, state in (
        ("a", CLASSIC, "Stable"),
        ("b", CLASSIC, "PreparingRebalance"),
        ("c", CONSUMER, "Stable"),
    ):
        groups.put(SaidGroup(group_id, group_type, state))
    return groups


@pytest.mark.parametrize(
    ("states", "types", "listed"),
    [
        ((), (), "abc"),
        (("stable",), (), "ac"),
        ((" STABLE ", "preparingrebalance"), (), "abc"),
        (("NoSuchState",), (), ""),
        ((), ("Classic",), "ab"),
        ((), ("consumer", "classic"), "abc"),
        ((), ("nosuchtype",), ""),
        ((), ("share", "CONSUMER"), "c"),
        (("Stable",), ("classic",), "a"),
    ],
)
def test_filters_are_by_state_and_type_whatever_their_case(
    groups: Groups, states: tuple[str, ...], types: tuple[str, ...], listed: str
) -> None:
    assert [each.group_id for each in list_groups(groups, states, types)] == list(listed)


def test_a_listed_group_says_its_protocol_state_and_type(groups: Groups) -> None:
    group = groups.get("c")
    assert isinstance(group, SaidGroup)
    group.protocol_type = "consumer"
    (listed,) = list_groups(groups, (), (CONSUMER,))
    assert vars(listed) == {
        "group_id": "c",
        "protocol_type": "consumer",
        "group_state": "Stable",
        "group_type": "consumer",
    }
    assert encode_response(16, 5, 1, Reply(error_code=ErrorCode.none, groups=[listed]))


def test_a_group_that_is_not_there_is_dead_and_from_version_6_on_not_found() -> None:
    reason = GroupIdNotFound("Group g not found.")
    old = describe_absent_group(5, "g", reason)
    new = describe_absent_group(6, "g", reason)
    assert (old.group_state, old.error_code) == ("Dead", ErrorCode.none)
    assert (new.group_state, new.error_code, new.error_message) == (
        "Dead",
        ErrorCode.group_id_not_found,
        "Group g not found.",
    )
    for version in range(7):
        assert encode_response(15, version, 1, Reply(groups=[describe_absent_group(version, "g", reason)]))
