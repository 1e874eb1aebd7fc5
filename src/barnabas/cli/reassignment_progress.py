"""How far moves of replicas are: a row for each partition, and for each replica between two directories.

What a new replica still lacks is estimated from the bytes that brokers report: a move is over when the
controller says so, not when the numbers are equal.
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
    from barnabas.cli.reassignment_plan import Plan
    from barnabas.client.cluster import Cluster

MOVING, DONE, OTHER = "moving", "done", "not as planned"


@dataclass(frozen=True, slots=True)
class MoveRow:
    place: TopicPartition
    now: Sequence[object]
    """Brokers; of a replica between directories, the one directory."""
    target: Sequence[object]
    state: str
    copied: int | None = None
    total: int | None = None
    """Bytes that the new replicas have, and shall have; None where nothing moves."""
    broker: int | None = None
    """Where directories are meant."""

    @property
    def left(self) -> int | None:
        """Bytes that are still to be copied."""
        return None if self.copied is None or self.total is None else self.total - self.copied

    @property
    def percent(self) -> int | None:
        """100 only for what is over."""
        if self.state == DONE:
            return 100
        if self.copied is None or self.total is None:
            return None
        return min(99, 100 * self.copied // self.total) if self.total > 0 else 99


@dataclass(frozen=True, slots=True)
class Progress:
    rows: tuple[MoveRow, ...]
    is_cluster_quiet: bool
    """Nothing moves, also nothing that is in no row: throttles may go."""

    @property
    def is_over(self) -> bool:
        return not any(row.state == MOVING for row in self.rows)

    @property
    def is_reached(self) -> bool:
        return all(row.state == DONE for row in self.rows)


def ongoing_progress(cluster: "Cluster") -> Progress:
    """Of everything that moves between brokers."""
    ongoing = list_reassignments(cluster)
    sizes = describe_replica_log_dirs(cluster, _replicas(cluster, ongoing))
    rows = []
    for place in sorted(ongoing):
        each = ongoing[place]
        target = [broker for broker in each.replicas if broker not in each.removing]
        rows.append(MoveRow(place, each.replicas, target, MOVING, *_copied(place, each, sizes)))
    return Progress(tuple(rows), not ongoing)


def plan_progress(cluster: "Cluster", plan: "Plan") -> Progress:
    """Of the moves of a plan, also of those that are over."""
    states, is_ongoing = reassignment_states(cluster, plan.replicas)
    ongoing = {}
    if is_ongoing:
        ongoing = list_reassignments(cluster, [place for place, state in states.items() if not state.is_done])
    sizes = describe_replica_log_dirs(cluster, _replicas(cluster, ongoing))
    rows = [_partition_row(place, states[place], ongoing.get(place), sizes) for place in sorted(states)]
    moves = move_states(cluster, plan.log_dirs)
    copies = describe_replica_log_dirs(
        cluster, [replica for replica, state in moves.items() if not state.is_done]
    )
    rows += [_directory_row(replica, moves[replica], copies.get(replica)) for replica in sorted(moves)]
    is_moving = not all(state.is_done for state in moves.values())
    return Progress(tuple(rows), not is_ongoing and not is_moving)


def _partition_row(
    place: TopicPartition,
    state: ReassignmentState,
    ongoing: Reassignment | None,
    sizes: Mapping[Replica, ReplicaLogDir],
) -> MoveRow:
    if state.is_done:
        return MoveRow(place, state.current, state.target, DONE if state.is_reached else OTHER)
    copied = (None, None) if ongoing is None else _copied(place, ongoing, sizes)
    return MoveRow(place, state.current, state.target, MOVING, *copied)


def _directory_row(replica: Replica, state: MoveState, place: ReplicaLogDir | None) -> MoveRow:
    known = {MoveKind.COMPLETED: DONE, MoveKind.ACTIVE: MOVING}.get(state.kind, OTHER)
    copied, total = (None, None) if place is None else (place.future_size, place.size)
    now = [state.current] if state.current is not None else []
    partition = replica.topic, replica.partition
    return MoveRow(partition, now, [state.target], known, copied, total, replica.broker)


def _copied(
    place: TopicPartition, each: Reassignment, sizes: Mapping[Replica, ReplicaLogDir]
) -> tuple[int, int]:
    """Bytes that the adding replicas have, and those they shall have: as many as the largest old one."""
    by_broker = {broker: sizes.get(Replica(*place, broker), ReplicaLogDir()).size for broker in each.replicas}
    full = max((size for broker, size in by_broker.items() if broker not in each.adding), default=0)
    return sum(min(by_broker.get(broker, 0), full) for broker in each.adding), full * len(each.adding)


def _replicas(cluster: "Cluster", ongoing: Mapping[TopicPartition, Reassignment]) -> Iterable[Replica]:
    return [
        Replica(topic, index, broker)
        for (topic, index), each in ongoing.items()
        for broker in each.replicas
        if broker in cluster.nodes
    ]
