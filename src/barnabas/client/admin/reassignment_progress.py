"""The progress of reassignments: a row per partition, and per replica that moves between log directories.

The remaining bytes of a new replica are estimated from the sizes that brokers report. A move is complete when
the controller no longer lists it, not when the sizes are equal.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignments import (
    Reassignment,
    ReassignmentState,
    list_reassignments,
    reassignment_states,
)
from barnabas.client.admin.replica_log_dirs import (
    MoveKind,
    MoveState,
    Replica,
    ReplicaLogDir,
    describe_replica_log_dirs,
    move_states,
)

if TYPE_CHECKING:
    from barnabas.client.admin.reassignment_plan import Plan
    from barnabas.client.cluster import Cluster

MOVING, DONE, OTHER = "moving", "done", "not as planned"


@dataclass(frozen=True, slots=True)
class MoveRow:
    topic_partition: TopicPartition
    now: Sequence[object]
    """Brokers, or the directory of a replica that moves between directories."""
    target: Sequence[object]
    state: str
    copied: int | None = None
    total: int | None = None
    """Bytes that the new replicas have, and will have. None if nothing moves."""
    broker: int | None = None
    """The broker of a move between directories."""

    @property
    def left(self) -> int | None:
        """Bytes that are still to be copied."""
        return None if self.copied is None or self.total is None else self.total - self.copied

    @property
    def percent(self) -> int | None:
        """100 only for a completed move."""
        if self.state == DONE:
            return 100
        if self.copied is None or self.total is None:
            return None
        return min(99, 100 * self.copied // self.total) if self.total > 0 else 99


@dataclass(frozen=True, slots=True)
class ReassignmentProgress:
    rows: tuple[MoveRow, ...]
    is_cluster_quiet: bool
    """No reassignment is active in the cluster, so the throttles can be removed."""

    @property
    def is_over(self) -> bool:
        return not any(row.state == MOVING for row in self.rows)

    @property
    def is_reached(self) -> bool:
        return all(row.state == DONE for row in self.rows)


def ongoing_progress(cluster: "Cluster") -> ReassignmentProgress:
    """The progress of all active reassignments."""
    ongoing = list_reassignments(cluster)
    sizes = describe_replica_log_dirs(cluster, _replicas(cluster, ongoing))
    rows = []
    for topic_partition in sorted(ongoing):
        each = ongoing[topic_partition]
        target = [broker for broker in each.replicas if broker not in each.removing]
        rows.append(
            MoveRow(topic_partition, each.replicas, target, MOVING, *_copied(topic_partition, each, sizes))
        )
    return ReassignmentProgress(tuple(rows), not ongoing)


def plan_progress(cluster: "Cluster", plan: "Plan") -> ReassignmentProgress:
    """The progress of a plan, completed moves included."""
    states, is_ongoing = reassignment_states(cluster, plan.replicas)
    ongoing = {}
    if is_ongoing:
        ongoing = list_reassignments(
            cluster, [topic_partition for topic_partition, state in states.items() if not state.is_done]
        )
    sizes = describe_replica_log_dirs(cluster, _replicas(cluster, ongoing))
    rows = [
        _partition_row(topic_partition, states[topic_partition], ongoing.get(topic_partition), sizes)
        for topic_partition in sorted(states)
    ]
    moves = move_states(cluster, plan.log_dirs)
    copies = describe_replica_log_dirs(
        cluster, [replica for replica, state in moves.items() if not state.is_done]
    )
    rows += [_directory_row(replica, moves[replica], copies.get(replica)) for replica in sorted(moves)]
    is_moving = not all(state.is_done for state in moves.values())
    return ReassignmentProgress(tuple(rows), not is_ongoing and not is_moving)


def _partition_row(
    topic_partition: TopicPartition,
    state: ReassignmentState,
    ongoing: Reassignment | None,
    sizes: Mapping[Replica, ReplicaLogDir],
) -> MoveRow:
    if state.is_done:
        return MoveRow(topic_partition, state.current, state.target, DONE if state.is_reached else OTHER)
    copied = (None, None) if ongoing is None else _copied(topic_partition, ongoing, sizes)
    return MoveRow(topic_partition, state.current, state.target, MOVING, *copied)


def _directory_row(replica: Replica, state: MoveState, log_dir: ReplicaLogDir | None) -> MoveRow:
    known = {MoveKind.COMPLETED: DONE, MoveKind.ACTIVE: MOVING}.get(state.kind, OTHER)
    copied, total = (None, None) if log_dir is None else (log_dir.future_size, log_dir.size)
    now = [state.current] if state.current is not None else []
    partition = replica.topic, replica.partition
    return MoveRow(partition, now, [state.target], known, copied, total, replica.broker)


def _copied(
    topic_partition: TopicPartition, each: Reassignment, sizes: Mapping[Replica, ReplicaLogDir]
) -> tuple[int, int]:
    """Bytes that the adding replicas have, and will have: as many as the largest old replica."""
    by_broker = {
        broker: sizes.get(Replica(*topic_partition, broker), ReplicaLogDir()).size for broker in each.replicas
    }
    full = max((size for broker, size in by_broker.items() if broker not in each.adding), default=0)
    return sum(min(by_broker.get(broker, 0), full) for broker in each.adding), full * len(each.adding)


def _replicas(cluster: "Cluster", ongoing: Mapping[TopicPartition, Reassignment]) -> Iterable[Replica]:
    return [
        Replica(topic, index, broker)
        for (topic, index), each in ongoing.items()
        for broker in each.replicas
        if broker in cluster.nodes
    ]
