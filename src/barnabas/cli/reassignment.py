"""A reassignment from its start to its end, in the steps that both `kafka-reassign-partitions` and
`barnabas reassign` take. Nothing is printed here: between two steps each says what it has to say.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from barnabas.cli.reassignment_plan import BadPlan, Plan, format_plan
from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignments import (
    Reassignment,
    alter_reassignments,
    list_reassignments,
    replicas_of_partitions,
)
from barnabas.client.admin.replica_log_dirs import (
    MoveKind,
    Replica,
    describe_replica_log_dirs,
    move_states,
)
from barnabas.client.admin.throttles import (
    clear_broker_throttles,
    clear_topic_throttles,
    moves_of,
    throttle_moves,
)
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, ClientError

_ALREADY_GOING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this "
    "and create a new partition assignment in addition to the existing one. The --additional flag can also "
    "be used to change the throttle by resubmitting the current reassignment."
)


class AlreadyGoing(ClientError):
    """Another reassignment goes on, and nobody said that this one may join it."""

    def __init__(self) -> None:
        super().__init__(_ALREADY_GOING)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that can be started, and how things are before."""

    plan: Plan
    ongoing: Mapping[TopicPartition, Reassignment]
    current: Mapping[TopicPartition, tuple[int, ...]]

    @property
    def changes(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The partitions that get other replicas, or the same in another order."""
        return {place: new for place, new in self.plan.replicas.items() if new != self.current[place]}


def prepare(cluster: Cluster, plan: Plan, *, is_additional: bool) -> Prepared:
    """Raises BadPlan, AlreadyGoing, or BrokerError for a topic that is not there."""
    plan = plan.checked()
    ongoing = list_reassignments(cluster)
    if ongoing and not is_additional:
        raise AlreadyGoing
    unknown = sorted(plan.brokers - set(cluster.nodes))
    if unknown:
        raise BadPlan(f"Unknown broker id {unknown[0]}")
    return Prepared(plan, ongoing, replicas_of_partitions(cluster, list(plan.replicas)))


def assignment_json(cluster: Cluster, current: Mapping[TopicPartition, Sequence[int]]) -> str:
    """The plan that leads back to `current`, with the directories of the replicas whose brokers are alive."""
    replicas = [
        Replica(topic, index, broker)
        for (topic, index), brokers in current.items()
        for broker in brokers
        if broker in cluster.nodes
    ]
    places = describe_replica_log_dirs(cluster, replicas)
    return format_plan(
        current, {replica: place.current for replica, place in places.items() if place.current is not None}
    )


def throttle(cluster: Cluster, prepared: Prepared, rate: int) -> None:
    """Hold the traffic between brokers to `rate` bytes per second."""
    throttle_moves(cluster, moves_of(prepared.ongoing, prepared.plan.replicas, prepared.current), rate)


def active_partitions(cluster: Cluster, places: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Those of these partitions that are being moved."""
    found = list_reassignments(cluster, list(places))
    return sorted(place for place, each in found.items() if each.adding or each.removing)


def cancel(cluster: Cluster, places: Iterable[TopicPartition]) -> dict[TopicPartition, BrokerError]:
    """Give these moves up; the errors of those that cannot be."""
    return alter_reassignments(cluster, dict.fromkeys(places))


def moves_back(cluster: Cluster, plan: Plan) -> dict[Replica, str]:
    """The moves between directories that go on, each with the directory that it came from."""
    states = move_states(cluster, plan.log_dirs)
    return {
        replica: state.current
        for replica, state in states.items()
        if state.kind is MoveKind.ACTIVE and state.current is not None
    }


def throttled_brokers(cluster: Cluster, plan: Plan) -> list[int]:
    """All that may have a throttle: which ones were sources is no longer known when a move is over."""
    return sorted(set(cluster.nodes) | plan.brokers)


def clear_throttles(cluster: Cluster, plan: Plan) -> None:
    clear_broker_throttles(cluster, throttled_brokers(cluster, plan))
    clear_topic_throttles(cluster, plan.topics)
