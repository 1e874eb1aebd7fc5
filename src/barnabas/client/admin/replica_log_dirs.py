"""The log directories of replicas: AlterReplicaLogDirs, DescribeLogDirs (KIP-113).

Each broker reports its own replicas. While a replica moves between directories there are two copies: the
current one, and the future one, which replaces it when it has caught up. Apache Kafka then reports both as
current for a moment (`LogManager.replaceCurrentWithFutureLog` renames first): the move is not complete yet.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from barnabas.client.admin.log_dirs import describe_log_dirs
from barnabas.client.admin.reassignments import by_topic
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, ClientError

_REPLICA_NOT_AVAILABLE = 9
_KAFKA_STORAGE_ERROR = 56
_PAUSE = 0.1


class Replica(NamedTuple):
    topic: str
    partition: int
    broker: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


@dataclass(frozen=True, slots=True)
class ReplicaLogDir:
    """The current and the future log directory of a replica. None if no live directory has the copy."""

    current: str | None = None
    future: str | None = None
    size: int = 0
    """Bytes of the current copy."""
    lag: int = 0
    """Records that the current copy lacks."""
    future_size: int = 0


class MoveKind(Enum):
    COMPLETED = "completed"
    ACTIVE = "active"
    CANCELLED = "cancelled"
    MISSING_LOG_DIR = "missing log dir"


@dataclass(frozen=True, slots=True)
class MoveState:
    kind: MoveKind
    target: str
    current: str | None = None
    future: str | None = None

    @property
    def is_done(self) -> bool:
        return self.kind is not MoveKind.ACTIVE


class MoveRefused(ClientError):
    """A broker cannot move a replica to the requested directory."""

    def __init__(self, replica: Replica, error: BrokerError) -> None:
        super().__init__(f"Failed to alter dir for {replica}: {error}")


class MoveTimeout(ClientError):
    """The moves `pending` could not be started in time."""

    def __init__(self, pending: Iterable[Replica]) -> None:
        self.pending: tuple[Replica, ...] = tuple(sorted(pending, key=by_broker_first))
        plural = "" if len(self.pending) == 1 else "s"
        names = ",".join(map(str, self.pending))
        super().__init__(f"Timed out before log directory move{plural} could be started for: {names}")


def by_broker_first(replica: Replica) -> tuple[int, str, int]:
    return replica.broker, replica.topic, replica.partition


def describe_replica_log_dirs(cluster: Cluster, replicas: Iterable[Replica]) -> dict[Replica, ReplicaLogDir]:
    """The result has every requested replica. A replica in no live directory has no `current`."""
    found: dict[Replica, ReplicaLogDir] = {}
    for broker, requested in _by_broker(replicas).items():
        found.update(dict.fromkeys(requested, ReplicaLogDir()))
        topics = by_topic((each.topic, each.partition) for each in requested)
        for directory in describe_log_dirs(cluster, [broker], topics)[broker]:
            if directory.error is not None and directory.error.code != _KAFKA_STORAGE_ERROR:
                raise directory.error
            for each in directory.partitions:  # empty if the directory is offline
                replica = Replica(each.topic, each.partition, broker)
                known = found.get(replica, ReplicaLogDir())
                if each.is_future or known.current is not None:
                    found[replica] = replace(known, future=directory.path, future_size=each.size)
                else:
                    found[replica] = replace(
                        known, current=directory.path, size=each.size, lag=each.offset_lag
                    )
    return found


def alter_replica_log_dirs(
    cluster: Cluster, moves: Mapping[Replica, str]
) -> dict[Replica, BrokerError | None]:
    """Starts to move each replica to its directory. Returns errors by replica."""
    results: dict[Replica, BrokerError | None] = {}
    for broker, requested in _by_broker(moves).items():
        dirs: dict[str, list[Replica]] = {}
        for replica in requested:
            dirs.setdefault(moves[replica], []).append(replica)
        fields = []
        for path, members in dirs.items():
            topics = by_topic((each.topic, each.partition) for each in members)
            named = [{"name": name, "partitions": indexes} for name, indexes in topics.items()]
            fields.append({"path": path, "topics": named})
        answer = cluster.request("alter_replica_log_dirs", to=broker, dirs=fields)
        for topic in answer.results:
            for each in topic.partitions:
                error = BrokerError(each.error_code) if each.error_code != 0 else None
                results[Replica(topic.topic_name, each.partition_index, broker)] = error
    return results


def start_moves(
    cluster: Cluster,
    moves: Mapping[Replica, str],
    *,
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Replica]:
    """Starts all moves, and yields each replica whose move has started.

    A replica that the broker does not have yet cannot move: the request is repeated until `timeout`
    (seconds). Raises MoveTimeout then, and MoveRefused for a non-retriable error.
    """
    pending = dict(moves)
    deadline = clock() + timeout
    while pending:
        results = alter_replica_log_dirs(cluster, pending)
        for replica in sorted(results, key=by_broker_first):
            error = results[replica]
            if error is None:
                yield replica
                pending.pop(replica, None)
            elif error.code != _REPLICA_NOT_AVAILABLE:
                raise MoveRefused(replica, error)
        if pending:
            if clock() >= deadline:
                raise MoveTimeout(pending)
            pause(_PAUSE)


def move_states(cluster: Cluster, targets: Mapping[Replica, str]) -> dict[Replica, MoveState]:
    """The state of each move to a directory."""
    log_dirs = describe_replica_log_dirs(cluster, targets)
    return {replica: _state(log_dirs[replica], target) for replica, target in targets.items()}


def _state(log_dir: ReplicaLogDir, target: str) -> MoveState:
    if log_dir.current is None:
        return MoveState(MoveKind.MISSING_LOG_DIR, target)
    if log_dir.future is not None:
        return MoveState(MoveKind.ACTIVE, target, log_dir.current, log_dir.future)
    kind = MoveKind.COMPLETED if log_dir.current == target else MoveKind.CANCELLED
    return MoveState(kind, target, log_dir.current)


def _by_broker(replicas: Iterable[Replica]) -> dict[int, list[Replica]]:
    parts: dict[int, list[Replica]] = {}
    for replica in replicas:
        parts.setdefault(replica.broker, []).append(replica)
    return parts
