"""DescribeLogDirs: what lies in the log directories of brokers, and how much room there is around it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError

_CLUSTER_AUTHORIZATION_FAILED = 31
_UNKNOWN_BYTES = -1


class LogPartition(NamedTuple):
    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool
    """A copy that is on its way to this directory."""


@dataclass(frozen=True, slots=True)
class LogDir:
    path: str
    error: BrokerError | None
    """The directory is offline, for example; there is nothing else to know then."""
    partitions: tuple[LogPartition, ...]
    """By topic and partition."""
    total_bytes: int | None
    """Of the volume; None where the broker is too old to say (before 3.3)."""
    usable_bytes: int | None

    @property
    def size(self) -> int:
        return sum(each.size for each in self.partitions)


def describe_log_dirs(
    cluster: Cluster, brokers: Iterable[int], partitions: Mapping[str, Sequence[int]] | None = None
) -> dict[int, tuple[LogDir, ...]]:
    """Of each broker, by path, with these partitions of each topic (None: with all).

    Raises the first error of a broker; a directory's own is in its `error`.
    """
    topics = None
    if partitions is not None:
        topics = [{"topic": name, "partitions": list(indexes)} for name, indexes in partitions.items()]
    found = {}
    for broker in brokers:
        answer = cluster.ask("describe_log_dirs", to=broker, topics=topics)
        if not answer.results:
            # Before version 3 a refusal had no code of its own: Kafka's client reads an empty answer as one.
            raise BrokerError(answer.error_code or _CLUSTER_AUTHORIZATION_FAILED)
        found[broker] = tuple(sorted(map(_log_dir, answer.results), key=lambda each: each.path))
    return found


def _log_dir(raw: Any) -> LogDir:
    partitions = sorted(
        LogPartition(
            topic.name, each.partition_index, each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in raw.topics
        for each in topic.partitions
    )
    return LogDir(
        raw.log_dir,
        BrokerError(raw.error_code) if raw.error_code != 0 else None,
        tuple(partitions),
        None if raw.total_bytes == _UNKNOWN_BYTES else raw.total_bytes,
        None if raw.usable_bytes == _UNKNOWN_BYTES else raw.usable_bytes,
    )
