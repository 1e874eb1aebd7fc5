"""`range`: contiguous runs of each topic's partitions over its subscribers. Topics are co-partitioned.

Members with the same subscription get the same partition numbers of topics with the same number of
partitions, so that joins find equal keys at one member. The order is static members by instance id, then the
others by member id: a static member that rejoins under a new member id gets its old partitions. Nothing else
is sticky.
"""

from barnabas.group.assignors.spec import GroupSpec, TargetAssignment
from barnabas.group.assignors.subscribers import subscribers_of_topics


class RangeAssignor:
    name = "range"

    def assign(self, spec: GroupSpec) -> TargetAssignment:
        member_ids = _in_order(spec)
        target: TargetAssignment = {member_id: {} for member_id in member_ids}
        # Topics with equal numbers of partitions and subscribers have equal runs: the runs are shared.
        cuts: dict[tuple[int, int], list[frozenset[int]]] = {}
        for topic_id, subscribers in subscribers_of_topics(spec, member_ids).items():
            shape = (spec.partition_count(topic_id), len(subscribers))
            runs = cuts.get(shape)
            if runs is None:
                runs = cuts[shape] = _runs(*shape)
            for index, run in zip(subscribers, runs, strict=False):
                target[member_ids[index]][topic_id] = run
        return target


def _in_order(spec: GroupSpec) -> list[str]:
    def sort_key(member_id: str) -> tuple[bool, str]:
        instance_id = spec.members[member_id].instance_id
        return (True, member_id) if instance_id is None else (False, instance_id)

    return sorted(spec.members, key=sort_key)


def _runs(partitions: int, subscribers: int) -> list[frozenset[int]]:
    """The partitions of a topic in runs, the longer ones first. Only runs that are not empty."""
    quota, extra = divmod(partitions, subscribers)
    runs: list[frozenset[int]] = []
    start = 0
    for index in range(min(partitions, subscribers)):
        end = start + quota + (index < extra)
        runs.append(frozenset(range(start, end)))
        start = end
    return runs
