"""The uniform assignment of a group whose members subscribe to different topics.

Three steps. Members keep the partitions they have and still subscribe to. Free partitions go to the least
loaded subscribers, topics with the most partitions per subscriber first. Then, topic by topic and round after
round, the most loaded subscribers pass partitions to the least loaded ones until no round moves a partition.
Loads are counted over all topics.

If the subscribers of each topic have equal subscriptions, the balance is perfect after the first round. If
subscriptions overlap, it is nearly perfect, and the number of rounds is limited (Kafka's
UniformHeterogeneousAssignmentBuilder: each round about halves the imbalance).
"""

from collections.abc import Sequence
from uuid import UUID

from barnabas.group.assignors.load_balancer import LoadBalancer
from barnabas.group.assignors.spec import GroupSpec, TargetAssignment, topic_order
from barnabas.group.assignors.subscribers import subscribers_of_topics

MAX_ROUNDS = 16

_NO_OWNER = -1


class HeterogeneousUniform:
    """Serves one call of the assignor. Members are indexes here, in the order of their ids."""

    def __init__(self, spec: GroupSpec) -> None:
        self._member_ids: list[str] = sorted(spec.members)
        self._loads: list[int] = [0] * len(self._member_ids)
        self._subscribers: dict[UUID, Sequence[int]] = subscribers_of_topics(spec, self._member_ids)
        self._owners: dict[UUID, list[int]] = {
            topic_id: [_NO_OWNER] * spec.partition_count(topic_id) for topic_id in self._subscribers
        }
        """The member that owns each partition."""
        self._topics: list[UUID] = sorted(self._subscribers, key=self._sort_key)

    def assign(self, spec: GroupSpec) -> TargetAssignment:
        self._keep(spec)
        self._hand_out()
        self._balance()
        return self._target()

    def _sort_key(self, topic_id: UUID) -> tuple[float, int, int]:
        """Sort key: the topics with the fewest possible owners come first."""
        subscribers = len(self._subscribers[topic_id])
        return -len(self._owners[topic_id]) / subscribers, subscribers, topic_order(topic_id)

    def _keep(self, spec: GroupSpec) -> None:
        for member, member_id in enumerate(self._member_ids):
            member_spec = spec.members[member_id]
            for topic_id, partitions in member_spec.assigned.items():
                if topic_id not in member_spec.topic_ids:
                    continue
                owners = self._owners[topic_id]
                # A partition with two owners, or that does not exist, is not kept.
                for partition in partitions:
                    if partition < len(owners) and owners[partition] == _NO_OWNER:
                        owners[partition] = member
                        self._loads[member] += 1

    def _hand_out(self) -> None:
        for topic_id in self._topics:
            owners = self._owners[topic_id]
            if _NO_OWNER not in owners:
                continue
            balancer = LoadBalancer(self._loads, self._subscribers[topic_id])
            for partition, owner in enumerate(owners):
                if owner == _NO_OWNER:
                    taker = owners[partition] = balancer.taker()
                    self._loads[taker] += 1

    def _balance(self) -> None:
        topics = [topic_id for topic_id in self._topics if len(self._subscribers[topic_id]) > 1]
        last_moved: int | None = None
        for _ in range(MAX_ROUNDS):
            for index, topic_id in enumerate(topics):
                if index == last_moved:
                    return
                if self._balance_topic(topic_id) or last_moved is None:
                    last_moved = index

    def _balance_topic(self, topic_id: UUID) -> bool:
        """Returns whether a partition moved."""
        subscribers = self._subscribers[topic_id]
        loads = [self._loads[member] for member in subscribers]
        if max(loads) - min(loads) <= 1:
            return False
        owners = self._owners[topic_id]
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(owners):
            held.setdefault(owner, []).append(partition)
        balancer = LoadBalancer(self._loads, subscribers)
        moved = False
        while (giver := _next_giver(balancer, held)) is not None:
            partition = held[giver].pop()
            taker = balancer.taker()
            if balancer.balanced():
                break
            owners[partition] = taker
            self._loads[giver] -= 1
            self._loads[taker] += 1
            moved = True
        return moved

    def _target(self) -> TargetAssignment:
        target: TargetAssignment = {member_id: {} for member_id in self._member_ids}
        for topic_id, owners in self._owners.items():
            held: dict[int, list[int]] = {}
            for partition, owner in enumerate(owners):
                held.setdefault(owner, []).append(partition)
            for owner, partitions in held.items():
                target[self._member_ids[owner]][topic_id] = frozenset(partitions)
        return target


def _next_giver(balancer: LoadBalancer, held: dict[int, list[int]]) -> int | None:
    """The most loaded member that has a partition of the topic."""
    while not balancer.balanced():
        giver = balancer.giver()
        if giver is None or held.get(giver):
            return giver
        balancer.exclude_giver()
    return None
