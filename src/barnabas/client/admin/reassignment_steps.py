"""The steps of a reassignment: prepare, throttle, cancel, clear throttles.

`kafka-reassign-partitions` and `barnabas reassign` share them and print between the steps.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignment_plan import BadPlan, Plan, format_plan
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

_IN_PROGRESS = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this "
    "and create a new partition assignment in addition to the existing one. The --additional flag can also "
    "be used to change the throttle by resubmitting the current reassignment."
)


class ReassignmentInProgress(ClientError):
    """Another reassignment is active, and `is_additional` is not set."""

    def __init__(self) -> None:
        super().__init__(_IN_PROGRESS)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A valid plan, with the current state of its partitions."""

    plan: Plan
    ongoing: Mapping[TopicPartition, Reassignment]
    current: Mapping[TopicPartition, tuple[int, ...]]

    @property
    def changes(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Partitions whose replica list changes, also in order only."""
        return {
            topic_partition: new
            for topic_partition, new in self.plan.replicas.items()
            if new != self.current[topic_partition]
        }


def prepare(cluster: Cluster, plan: Plan, *, is_additional: bool) -> Prepared:
    """Raises BadPlan, ReassignmentInProgress, or BrokerError if a topic does not exist."""
    plan = plan.checked()
    ongoing = list_reassignments(cluster)
    if ongoing and not is_additional:
        raise ReassignmentInProgress
    unknown = sorted(plan.brokers - set(cluster.nodes))
    if unknown:
        raise BadPlan(f"Unknown broker id {unknown[0]}")
    return Prepared(plan, ongoing, replicas_of_partitions(cluster, list(plan.replicas)))


def assignment_json(cluster: Cluster, current: Mapping[TopicPartition, Sequence[int]]) -> str:
    """The rollback plan to `current`, with the log directories of replicas on live brokers."""
    replicas = [
        Replica(topic, index, broker)
        for (topic, index), brokers in current.items()
        for broker in brokers
        if broker in cluster.nodes
    ]
    log_dirs = describe_replica_log_dirs(cluster, replicas)
    return format_plan(
        current, {replica: each.current for replica, each in log_dirs.items() if each.current is not None}
    )


def throttle(cluster: Cluster, prepared: Prepared, rate: int) -> None:
    """Limits the replication traffic between brokers to `rate` bytes per second."""
    throttle_moves(cluster, moves_of(prepared.ongoing, prepared.plan.replicas, prepared.current), rate)


def active_partitions(cluster: Cluster, topic_partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """The partitions of `topic_partitions` with an active reassignment."""
    found = list_reassignments(cluster, list(topic_partitions))
    return sorted(topic_partition for topic_partition, each in found.items() if each.adding or each.removing)


def cancel(cluster: Cluster, topic_partitions: Iterable[TopicPartition]) -> dict[TopicPartition, BrokerError]:
    """Cancels reassignments. Returns the errors of partitions that failed."""
    return alter_reassignments(cluster, dict.fromkeys(topic_partitions))


def moves_back(cluster: Cluster, plan: Plan) -> dict[Replica, str]:
    """The active moves between log directories, each with its source directory."""
    states = move_states(cluster, plan.log_dirs)
    return {
        replica: state.current
        for replica, state in states.items()
        if state.kind is MoveKind.ACTIVE and state.current is not None
    }


def throttled_brokers(cluster: Cluster, plan: Plan) -> list[int]:
    """All brokers that may have a throttle. The sources of a completed move are no longer known."""
    return sorted(set(cluster.nodes) | plan.brokers)


def clear_throttles(cluster: Cluster, plan: Plan) -> None:
    clear_broker_throttles(cluster, throttled_brokers(cluster, plan))
    clear_topic_throttles(cluster, plan.topics)
