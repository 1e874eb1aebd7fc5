"""DescribeLogDirs: the replicas in the log directories of brokers, and the size of the volumes."""

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
    """Whether this is the future replica of a move to this directory."""


@dataclass(frozen=True, slots=True)
class LogDir:
    path: str
    error: BrokerError | None
    """The error of the directory, for example if it is offline. Other fields are empty then."""
    partitions: tuple[LogPartition, ...]
    """By topic and partition."""
    total_bytes: int | None
    """Bytes of the volume. None for brokers before 3.3."""
    usable_bytes: int | None

    @property
    def size(self) -> int:
        return sum(each.size for each in self.partitions)


def describe_log_dirs(
    cluster: Cluster, brokers: Iterable[int], partitions: Mapping[str, Sequence[int]] | None = None
) -> dict[int, tuple[LogDir, ...]]:
    """The log directories of each broker by path, with these partitions (None: all).

    Raises the first error of a broker. The error of a directory is in its `error`.
    """
    topics = None
    if partitions is not None:
        topics = [{"topic": name, "partitions": list(indexes)} for name, indexes in partitions.items()]
    found = {}
    for broker in brokers:
        answer = cluster.request("describe_log_dirs", to=broker, topics=topics)
        if not answer.results:
            # Before version 3 there was no error code: Kafka's client reads an empty response as an error.
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
