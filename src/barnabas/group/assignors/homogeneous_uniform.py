"""The uniform assignment of a group whose members all subscribe to the same topics.

Every member gets the same number of partitions, or one more. Three steps: find the partitions without an
owner; let each member keep its partitions up to its quota; give the free partitions to members below their
quota. A partition that is not revoked does not move.

A quota is `total // members`, and `total % members` of them may have one more. Members that already have one
more keep it while there are extras. A member gives up the extra partition only while enough members follow to
take all the extras (Kafka's UniformHomogeneousAssignmentBuilder).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from barnabas.group.assignors.spec import Assignment, GroupSpec, TargetAssignment, topic_order


class _Run(NamedTuple):
    """Partitions of one topic, ascending, without an owner."""

    topic_id: UUID
    partitions: Sequence[int]


class HomogeneousUniform:
    """Serves one call of the assignor."""

    def __init__(self, spec: GroupSpec) -> None:
        self._members: list[str] = sorted(spec.members)
        topic_ids = spec.members[self._members[0]].topic_ids
        self._counts: dict[UUID, int] = {
            topic_id: spec.partition_count(topic_id) for topic_id in sorted(topic_ids, key=topic_order)
        }
        self._target: TargetAssignment = {
            member_id: _subscribed(spec.members[member_id].assigned, topic_ids) for member_id in self._members
        }
        self._free: list[_Run] = []
        self._unfilled: list[tuple[str, int]] = []

    def assign(self) -> TargetAssignment:
        self._find_free()
        self._revoke_beyond_quotas()
        self._hand_out()
        return self._target

    def _find_free(self) -> None:
        owned: dict[UUID, list[frozenset[int]]] = {topic_id: [] for topic_id in self._counts}
        for assignment in self._target.values():
            for topic_id, partitions in assignment.items():
                owned[topic_id].append(partitions)
        for topic_id, count in self._counts.items():
            parts = owned[topic_id]
            free = set(range(count)).difference(*parts)
            if sum(map(len, parts)) + len(free) != count:
                self._keep_first_owners(topic_id, count)
            if free:
                self._free.append(_Run(topic_id, sorted(free)))

    def _keep_first_owners(self, topic_id: UUID, count: int) -> None:
        """A partition with two owners, or that does not exist, is not kept."""
        left = set(range(count))
        for assignment in self._target.values():
            partitions = assignment.get(topic_id)
            if partitions is None:
                continue
            kept = partitions & left
            left -= kept
            _put(assignment, topic_id, kept)

    def _revoke_beyond_quotas(self) -> None:
        base, extras = divmod(sum(self._counts.values()), len(self._members))
        for left, member_id in zip(range(len(self._members), 0, -1), self._members, strict=True):
            assignment = self._target[member_id]
            size = sum(map(len, assignment.values()))
            # `left` members from this one on: if as many extras are left, each of them has to take one.
            takes_extra = extras > 0 and (size > base or left <= extras)
            quota = base + takes_extra
            extras -= takes_extra
            if size < quota:
                self._unfilled.append((member_id, quota - size))
            elif size > quota:
                self._free.extend(_cut(assignment, quota))

    def _hand_out(self) -> None:
        runs = iter(self._free)
        run, start = _Run(UUID(int=0), ()), 0
        for member_id, wanted in self._unfilled:
            assignment = self._target[member_id]
            while wanted:
                if start == len(run.partitions):
                    run, start = next(runs), 0
                given = run.partitions[start : start + wanted]
                start += len(given)
                wanted -= len(given)
                assignment[run.topic_id] = assignment.get(run.topic_id, frozenset()).union(given)


def _subscribed(assignment: Assignment, topic_ids: frozenset[UUID]) -> dict[UUID, frozenset[int]]:
    if assignment.keys() <= topic_ids:
        return dict(assignment)
    return {topic_id: partitions for topic_id, partitions in assignment.items() if topic_id in topic_ids}


def _cut(assignment: dict[UUID, frozenset[int]], quota: int) -> Iterable[_Run]:
    """Remove the partitions beyond the quota: of the last topics, the highest partitions."""
    for topic_id in sorted(assignment, key=topic_order):
        partitions = assignment[topic_id]
        if len(partitions) <= quota:
            quota -= len(partitions)
            continue
        ordered = sorted(partitions)
        _put(assignment, topic_id, frozenset(ordered[:quota]))
        yield _Run(topic_id, ordered[quota:])
        quota = 0


def _put(assignment: dict[UUID, frozenset[int]], topic_id: UUID, partitions: frozenset[int]) -> None:
    if partitions:
        assignment[topic_id] = partitions
    else:
        del assignment[topic_id]
