from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.group.assignors.groups import (
    assert_complete,
    assignment,
    group,
    groups,
    member,
    owning,
    target,
    topic,
)

from barnabas.base.errors import ErrorCode, error_of
from barnabas.group.assignors import (
    ASSIGNORS,
    GroupSpec,
    PartitionAssignorError,
    RangeAssignor,
    TargetAssignment,
)

# The expectations are Apache Kafka 4.3.1's answers to the same groups.
KAFKA_ANSWERS: dict[str, tuple[GroupSpec, TargetAssignment]] = {
    "the first members take the larger shares of every topic": (
        group({1: 3, 3: 2}, {"a": member([1, 3]), "b": member([1, 3])}),
        target(a={1: [0, 1], 3: [0]}, b={1: [2], 3: [1]}),
    ),
    "members beyond the number of partitions get nothing": (
        group({3: 2}, {"a": member([3]), "b": member([3]), "c": member([3])}),
        target(a={3: [0]}, b={3: [1]}, c={}),
    ),
    "what was assigned before does not matter": (
        group({1: 3, 2: 3}, {"a": member([1, 2], {1: [0], 2: [0]}), "b": member([1, 2], {1: [1], 2: [1]})}),
        target(a={1: [0, 1], 2: [0, 1]}, b={1: [2], 2: [2]}),
    ),
    "each topic is shared among its own subscribers": (
        group({1: 3, 2: 3, 3: 2}, {"a": member([1, 2]), "b": member([3]), "c": member([2, 3])}),
        target(a={1: [0, 1, 2], 2: [0, 1]}, b={3: [0]}, c={2: [2], 3: [1]}),
    ),
    "runs stay contiguous with different subscriptions": (
        group({1: 15, 2: 15}, {"a": member([1]), "b": member([1, 2]), "c": member([2])}),
        target(a={1: range(8)}, b={1: range(8, 15), 2: range(8)}, c={2: range(8, 15)}),
    ),
}


@pytest.mark.parametrize("case", KAFKA_ANSWERS)
def test_kafkas_answer(case: str) -> None:
    spec, expected = KAFKA_ANSWERS[case]
    assert RangeAssignor().assign(spec) == expected


def test_is_known_by_its_name() -> None:
    assert isinstance(ASSIGNORS["range"], RangeAssignor)


def test_static_members_come_first_by_instance_id_then_the_others_by_member_id() -> None:
    spec = group(
        {1: 4},
        {
            "a": member([1]),
            "m9": member([1], instance_id="i1"),
            "m1": member([1], instance_id="i2"),
            "Z": member([1]),
        },
    )
    assert RangeAssignor().assign(spec) == target(m9={1: [0]}, m1={1: [1]}, Z={1: [2]}, a={1: [3]})


def test_static_member_with_a_new_member_id_finds_its_partitions() -> None:
    others = {"c": member([1]), "k": member([1], instance_id="i2")}
    before = RangeAssignor().assign(group({1: 7}, {"a": member([1], instance_id="i1"), **others}))
    after = RangeAssignor().assign(group({1: 7}, {"zz": member([1], instance_id="i1"), **others}))
    assert after["zz"] == before["a"]
    assert after["c"] == before["c"]


def test_topics_with_equal_partitions_are_co_partitioned() -> None:
    spec = group(dict.fromkeys(range(1, 6), 7), {name: member(range(1, 6)) for name in "abc"})
    for assigned in RangeAssignor().assign(spec).values():
        assert len(set(assigned.values())) == 1
        assert len(assigned) == 5


def test_group_without_members_has_no_assignment() -> None:
    assert RangeAssignor().assign(group({1: 3}, {})) == {}


def test_members_without_topics_have_empty_assignments() -> None:
    assert RangeAssignor().assign(group({}, {"a": member([]), "b": member([])})) == target(a={}, b={})


@pytest.mark.parametrize("others", [[1], [2]], ids=["homogeneous", "heterogeneous"])
@pytest.mark.parametrize("name", ["range", "uniform"])
def test_unknown_topic_is_an_unknown_server_error(name: str, others: list[int]) -> None:
    spec = group({2: 3}, {"a": member([1]), "b": member(others)})
    with pytest.raises(PartitionAssignorError, match=str(topic(1))) as caught:
        ASSIGNORS[name].assign(spec)
    assert error_of(caught.value)[0] is ErrorCode.unknown_server_error


@given(spec=st.booleans().flatmap(lambda same: groups(homogeneous=same)))
def test_shares_are_contiguous_even_and_in_order(spec: GroupSpec) -> None:
    answer = RangeAssignor().assign(spec)
    assert_complete(spec, answer)
    ordered = sorted(spec.members, key=lambda m: (spec.members[m].instance_id or "~", m))
    topic_ids = frozenset[UUID]().union(*(s.topic_ids for s in spec.members.values()))
    for topic_id in topic_ids:
        subscribers = [m for m in ordered if topic_id in spec.members[m].topic_ids]
        shares = [sorted(answer[m].get(topic_id, ())) for m in subscribers]
        assert [p for share in shares for p in share] == list(range(spec.partition_counts[topic_id]))
        sizes = [len(share) for share in shares]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[-1] <= 1


@given(spec=groups(homogeneous=False))
def test_assigning_again_changes_nothing(spec: GroupSpec) -> None:
    answer = RangeAssignor().assign(spec)
    assert RangeAssignor().assign(owning(spec, answer)) == answer


def test_input_is_left_alone() -> None:
    spec = group({1: 4}, {"a": member([1], {1: [0, 1, 2, 3]}), "b": member([1])})
    RangeAssignor().assign(spec)
    assert spec.members["a"].assigned == assignment({1: [0, 1, 2, 3]})
