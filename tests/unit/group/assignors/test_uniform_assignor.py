from copy import deepcopy
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.group.assignors.groups import (
    assert_complete,
    group,
    groups,
    member,
    owning,
    pairs,
    size,
    target,
    topic,
    with_members,
)

from barnabas.group.assignors import ASSIGNORS, GroupSpec, MemberSpec, TargetAssignment, UniformAssignor

# The expectations are Apache Kafka 4.3.1's answers to the same groups.
KAFKA_ANSWERS: dict[str, tuple[GroupSpec, TargetAssignment]] = {
    "partitions are dealt out evenly over all topics": (
        group({1: 3, 3: 2}, {"a": member([1, 3]), "b": member([1, 3])}),
        target(a={1: [0, 1]}, b={1: [2], 3: [0, 1]}),
    ),
    "surplus members idle": (
        group({3: 2}, {"a": member([3]), "b": member([3]), "c": member([3])}),
        target(a={}, b={3: [0]}, c={3: [1]}),
    ),
    "a new member gets what exceeds the quotas of the others": (
        group(
            {1: 3, 2: 3},
            {
                "a": member([1, 2], {1: [0, 2], 2: [0]}),
                "b": member([1, 2], {1: [1], 2: [1, 2]}),
                "c": member([1, 2]),
            },
        ),
        target(a={1: [0, 2]}, b={1: [1], 2: [1]}, c={2: [0, 2]}),
    ),
    "the partitions of a member that left are shared": (
        group({1: 3, 2: 3}, {"a": member([1, 2], {1: [0], 2: [0]}), "b": member([1, 2], {1: [1], 2: [1]})}),
        target(a={1: [0, 2], 2: [0]}, b={1: [1], 2: [1, 2]}),
    ),
    "new partitions go to members below the quota": (
        group(
            {1: 6, 2: 5}, {"a": member([1, 2], {1: [0, 2], 2: [0]}), "b": member([1, 2], {1: [1], 2: [1, 2]})}
        ),
        target(a={1: [0, 2, 3, 4], 2: [0]}, b={1: [1, 5], 2: [1, 2, 3, 4]}),
    ),
    "the larger quotas stay with the members that have more": (
        group(
            {1: 8}, {"a": member([1]), "b": member([1], {1: range(4)}), "c": member([1], {1: range(4, 8)})}
        ),
        target(a={1: [3, 7]}, b={1: [0, 1, 2]}, c={1: [4, 5, 6]}),
    ),
    "a topic without subscriptions is dropped": (
        group({2: 3}, {"a": member([2], {1: [0, 1], 2: [0]}), "b": member([2], {1: [2], 2: [1, 2]})}),
        target(a={2: [0]}, b={2: [1, 2]}),
    ),
    "different subscriptions: load is balanced over topics": (
        group({1: 3, 3: 6}, {"a": member([1, 3]), "b": member([3])}),
        target(a={1: [0, 1, 2], 3: [4]}, b={3: [0, 1, 2, 3, 5]}),
    ),
    "different subscriptions: topics with few subscribers come first": (
        group({1: 3, 2: 3, 3: 2}, {"a": member([1, 2]), "b": member([3]), "c": member([2, 3])}),
        target(a={1: [0, 1, 2]}, b={3: [0, 1]}, c={2: [0, 1, 2]}),
    ),
    "different subscriptions: a narrowed subscription moves what balance needs": (
        group(
            {1: 6, 2: 5},
            {"a": member([1], {1: [0, 1, 2], 2: [0, 1]}), "b": member([1, 2], {1: [3, 4, 5], 2: [2, 3, 4]})},
        ),
        target(a={1: [0, 1, 2, 4, 5]}, b={1: [3], 2: range(5)}),
    ),
    "different subscriptions: a balanced group stays": (
        group(
            {1: 6, 2: 6, 3: 6},
            {
                "a": member([1], {1: range(6)}),
                "b": member([1, 2], {2: range(6)}),
                "c": member([1, 2, 3], {3: range(6)}),
            },
        ),
        target(a={1: range(6)}, b={2: range(6)}, c={3: range(6)}),
    ),
    "different subscriptions: a new member takes what is free": (
        group(
            {1: 4, 2: 4, 3: 4},
            {
                "a": member([1, 3], {1: [0, 1], 3: [0]}),
                "b": member([2, 3], {2: [0, 1], 3: [1]}),
                "c": member([1, 2, 3]),
            },
        ),
        target(a={1: [0, 1], 3: [0, 2]}, b={2: [0, 1], 3: [1, 3]}, c={1: [2, 3], 2: [2, 3]}),
    ),
    "different subscriptions: overlapping ones are balanced topic by topic": (
        group({1: 15, 2: 15}, {"a": member([1]), "b": member([1, 2]), "c": member([2])}),
        target(
            a={1: [0, 2, 4, 6, 8, 10, 12, 13, 14]},
            b={1: [1, 3, 5, 7, 9, 11], 2: [8, 10, 12, 14]},
            c={2: [0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13]},
        ),
    ),
}

any_group = st.booleans().flatmap(lambda same: groups(homogeneous=same))


@pytest.mark.parametrize("case", KAFKA_ANSWERS)
def test_kafkas_answer(case: str) -> None:
    spec, expected = KAFKA_ANSWERS[case]
    assert UniformAssignor().assign(spec) == expected


def test_is_the_first_choice() -> None:
    assert next(iter(ASSIGNORS)) == "uniform"
    assert isinstance(ASSIGNORS["uniform"], UniformAssignor)


@given(spec=any_group)
def test_every_partition_has_one_owner_that_subscribes_to_it(spec: GroupSpec) -> None:
    untouched = deepcopy(spec)
    assert_complete(spec, UniformAssignor().assign(spec))
    assert spec == untouched


@given(spec=groups(homogeneous=True))
def test_members_with_equal_subscriptions_differ_by_at_most_one(spec: GroupSpec) -> None:
    sizes = [size(assigned) for assigned in UniformAssignor().assign(spec).values()]
    assert max(sizes) - min(sizes) <= 1


@given(spec=groups(homogeneous=True))
def test_no_more_moves_than_balance_needs(spec: GroupSpec) -> None:
    answer = UniformAssignor().assign(spec)
    topic_ids = next(iter(spec.members.values())).topic_ids
    before = {
        member_id: {pair for pair in pairs(member.assigned) if pair[0] in topic_ids}
        for member_id, member in spec.members.items()
    }
    base, extras = divmod(sum(spec.partition_counts[topic_id] for topic_id in topic_ids), len(spec.members))
    above = [len(owned) - base for owned in before.values() if len(owned) > base]
    revoked = sum(len(owned - pairs(answer[member_id])) for member_id, owned in before.items())
    assert revoked == sum(above) - min(extras, len(above))


@given(spec=any_group)
def test_assigning_again_changes_nothing(spec: GroupSpec) -> None:
    answer = UniformAssignor().assign(spec)
    assert UniformAssignor().assign(owning(spec, answer)) == answer


@given(spec=any_group)
def test_order_of_members_in_memory_does_not_matter(spec: GroupSpec) -> None:
    backwards = {member_id: spec.members[member_id] for member_id in reversed(list(spec.members))}
    assert UniformAssignor().assign(with_members(spec, backwards)) == UniformAssignor().assign(spec)


@given(spec=groups(homogeneous=True), choice=st.integers(0, 100))
def test_member_that_leaves_moves_only_its_own_partitions(spec: GroupSpec, choice: int) -> None:
    before = UniformAssignor().assign(spec)
    members = dict(owning(spec, before).members)
    members.pop(sorted(members)[choice % len(members)])
    after = UniformAssignor().assign(with_members(spec, members))
    for member_id, assigned in after.items():
        assert pairs(before[member_id]) <= pairs(assigned)


@given(spec=groups(homogeneous=True), newcomer=st.sampled_from(["", "cc", "zz"]))
def test_only_the_newcomer_gains(spec: GroupSpec, newcomer: str) -> None:
    before = UniformAssignor().assign(spec)
    members = {key: value for key, value in owning(spec, before).members.items() if key != newcomer}
    before = UniformAssignor().assign(with_members(spec, members)) if members else {}
    topic_ids = next(iter(spec.members.values())).topic_ids
    joined = {
        **owning(with_members(spec, members), before).members,
        newcomer: MemberSpec(None, None, topic_ids, {}),
    }
    after = UniformAssignor().assign(with_members(spec, joined))
    for member_id, assigned in before.items():
        assert pairs(after[member_id]) <= pairs(assigned)


@given(spec=groups(homogeneous=False))
def test_no_owner_has_two_more_than_another_subscriber_of_its_topic(spec: GroupSpec) -> None:
    answer = UniformAssignor().assign(spec)
    loads = {member_id: size(assigned) for member_id, assigned in answer.items()}
    for member_id, assigned in answer.items():
        for topic_id in assigned:
            others = [loads[m] for m, s in spec.members.items() if topic_id in s.topic_ids]
            assert loads[member_id] - min(others) <= 1


@pytest.mark.parametrize("homogeneous", [True, False])
def test_partition_that_two_members_have_or_that_does_not_exist_does_not_live_on(homogeneous: bool) -> None:
    members = {"a": member([1], {1: [0, 1, 9]}), "b": member([1], {1: [0, 1, 2]}), "c": member([1], {1: [7]})}
    spec = GroupSpec(members, homogeneous, {topic(1): 6})
    answer = UniformAssignor().assign(spec)
    assert_complete(spec, answer)
    assert {size(assigned) for assigned in answer.values()} == {2}


def test_group_without_members_has_no_assignment() -> None:
    assert UniformAssignor().assign(group({1: 3}, {})) == {}


@pytest.mark.parametrize("homogeneous", [True, False])
def test_members_without_topics_have_empty_assignments(homogeneous: bool) -> None:
    members = {"a": member([], {1: [0]}), "b": member([])}
    assert UniformAssignor().assign(GroupSpec(members, homogeneous, {})) == target(a={}, b={})


def test_answer_is_not_the_state_it_was_made_from() -> None:
    spec = group({1: 2}, {"a": member([1], {1: [0, 1]})})
    answer = UniformAssignor().assign(spec)
    answer["a"].clear()
    assert spec.members["a"].assigned == {UUID(int=1): frozenset({0, 1})}


def test_large_unchanged_group_keeps_the_very_same_sets() -> None:
    spec = group(dict.fromkeys(range(1, 101), 10), {f"m{n:04}": member(range(1, 101)) for n in range(300)})
    answer = UniformAssignor().assign(spec)
    again = UniformAssignor().assign(owning(spec, answer))
    assert all(again[m][t] is answer[m][t] for m in answer for t in answer[m])
