"""Groups for the tests of the assignors: written shortly, or made by Hypothesis."""

from collections import Counter
from collections.abc import Iterable, Mapping
from uuid import UUID

from hypothesis import strategies as st

from barnabas.group.assignors import Assignment, GroupSpec, MemberSpec, TargetAssignment

Short = Mapping[int, Iterable[int]]
"""Topic number -> partitions."""


def topic(number: int) -> UUID:
    return UUID(int=number)


def assignment(short: Short) -> dict[UUID, frozenset[int]]:
    return {topic(number): frozenset(partitions) for number, partitions in short.items()}


def target(**members: Short) -> TargetAssignment:
    return {member_id: assignment(short) for member_id, short in members.items()}


def member(
    topics: Iterable[int], assigned: Short | None = None, instance_id: str | None = None
) -> MemberSpec:
    return MemberSpec(instance_id, None, frozenset(map(topic, topics)), assignment(assigned or {}))


def group(partition_counts: Mapping[int, int], members: Mapping[str, MemberSpec]) -> GroupSpec:
    homogeneous = len({spec.topic_ids for spec in members.values()}) <= 1
    counts = {topic(number): count for number, count in partition_counts.items()}
    return GroupSpec(members, homogeneous, counts)


def owning(spec: GroupSpec, owned: Mapping[str, Assignment]) -> GroupSpec:
    """The same group once it has been given these partitions."""
    members = {
        member_id: MemberSpec(member.instance_id, member.rack_id, member.topic_ids, owned.get(member_id, {}))
        for member_id, member in spec.members.items()
    }
    return GroupSpec(members, spec.homogeneous, spec.partition_counts)


def with_members(spec: GroupSpec, members: Mapping[str, MemberSpec]) -> GroupSpec:
    return GroupSpec(members, spec.homogeneous, spec.partition_counts)


def size(assigned: Assignment) -> int:
    return sum(map(len, assigned.values()))


def pairs(assigned: Assignment) -> set[tuple[UUID, int]]:
    return {(topic_id, partition) for topic_id, partitions in assigned.items() for partition in partitions}


def assert_complete(spec: GroupSpec, answer: TargetAssignment) -> None:
    """Each partition of a subscribed topic belongs to one member, which subscribes to it."""
    assert answer.keys() == spec.members.keys()
    owned: Counter[tuple[UUID, int]] = Counter()
    for member_id, assigned in answer.items():
        assert assigned.keys() <= spec.members[member_id].topic_ids
        assert all(assigned.values()), "a topic without partitions"
        owned.update(pairs(assigned))
    subscribed = frozenset[UUID]().union(*(member.topic_ids for member in spec.members.values()))
    expected = {(topic_id, p) for topic_id in subscribed for p in range(spec.partition_counts[topic_id])}
    assert owned == Counter(expected)


@st.composite
def groups(draw: st.DrawFn, *, homogeneous: bool) -> GroupSpec:
    """Any group, with any current assignment that gives no partition twice."""
    topic_ids = draw(st.lists(st.uuids(), min_size=1, max_size=5, unique=True))
    counts = {topic_id: draw(st.integers(1, 12)) for topic_id in topic_ids}
    member_ids = draw(
        st.lists(st.text("abcdef", min_size=1, max_size=4), min_size=1, max_size=7, unique=True)
    )
    subscriptions = st.frozensets(st.sampled_from(topic_ids))
    common = draw(subscriptions)
    owners = st.sampled_from([None, *member_ids])
    owned: dict[str, dict[UUID, set[int]]] = {member_id: {} for member_id in member_ids}
    for topic_id, count in counts.items():
        for partition in range(count):
            owner = draw(owners)
            if owner is not None:
                owned[owner].setdefault(topic_id, set()).add(partition)
    members = {
        member_id: MemberSpec(
            draw(st.sampled_from([None, f"instance-{9 - index}"])),
            None,
            common if homogeneous else draw(subscriptions),
            {topic_id: frozenset(partitions) for topic_id, partitions in owned[member_id].items()},
        )
        for index, member_id in enumerate(member_ids)
    }
    return GroupSpec(members, homogeneous, counts)
