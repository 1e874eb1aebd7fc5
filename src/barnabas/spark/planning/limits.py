"""Where a read begins or ends, as the options say: a word, offsets, or timestamps. Nothing is resolved yet.

Precedence as in Spark's connector: one timestamp for all, then timestamps by partition, then offsets.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.spark.planning import Offsets, TopicPartition, name_of, names_of
from barnabas.spark.planning.option_values import (
    BadOption,
    partition_offsets,
    partition_timestamps,
)

LATEST, EARLIEST = -1, -2
"""Offsets with a meaning of their own, in the user's JSON and as timestamps of ListOffsets."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One end of all partitions: EARLIEST or LATEST."""

    offset: int


@dataclass(frozen=True, slots=True)
class AtOffsets:
    offsets: Offsets


@dataclass(frozen=True, slots=True)
class AtTimestamps:
    timestamps: dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AtTimestamp:
    timestamp: int


Limit = Edge | AtOffsets | AtTimestamps | AtTimestamp

FROM_EARLIEST, FROM_LATEST = Edge(EARLIEST), Edge(LATEST)


def limit_of(options: Mapping[str, str], side: str, default: Limit) -> Limit:
    """`side` is "starting" or "ending"; the keys of `options` are in lower case. Raises BadOption."""
    if (text := options.get(f"{side}timestamp")) is not None:
        try:
            return AtTimestamp(int(text.strip()))
        except ValueError:
            raise BadOption(f"Expected a single long value, got {text.strip()}") from None
    if (text := options.get(f"{side}offsetsbytimestamp")) is not None:
        return AtTimestamps(partition_timestamps(text.strip()))
    if (text := options.get(f"{side}offsets")) is not None:
        return _offsets_limit(text.strip())
    return default


def _offsets_limit(text: str) -> Limit:
    if text.lower() == "latest":
        return FROM_LATEST
    if text.lower() == "earliest":
        return FROM_EARLIEST
    return AtOffsets(partition_offsets(text))


def check_batch_limits(start: Limit, end: Limit) -> None:
    """What a batch query cannot begin or end with. Raises BadOption."""
    if start == FROM_LATEST:
        raise BadOption("starting offset can't be latest for batch queries on Kafka")
    if end == FROM_EARLIEST:
        raise BadOption("ending offset can't be earliest for batch queries on Kafka")
    for topic_partition, offset in _offsets(start).items():
        if offset == LATEST:
            raise BadOption(
                f"startingOffsets for {name_of(topic_partition)} can't be latest for batch queries on Kafka"
            )
    for topic_partition, offset in _offsets(end).items():
        if offset == EARLIEST:
            raise BadOption(
                f"ending offset for {name_of(topic_partition)} can't be earliest for batch queries on Kafka"
            )
    if isinstance(start, AtOffsets) and isinstance(end, AtOffsets):
        _check_order("offset", start.offsets, end.offsets)
    if isinstance(start, AtTimestamps) and isinstance(end, AtTimestamps):
        _check_order("timestamp", start.timestamps, end.timestamps)


def _offsets(limit: Limit) -> Offsets:
    return limit.offsets if isinstance(limit, AtOffsets) else {}


def _check_order(kind: str, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> None:
    if start.keys() != end.keys():
        raise BadOption(
            "The specified start offset and end offset should have the same topic-partitions. "
            f"Topic-partitions for start offset: {names_of(set(start))}, "
            f"topic-partitions for end offset: {names_of(set(end))}."
        )
    for topic_partition, first in start.items():
        if first > end[topic_partition] >= 0:
            raise BadOption(
                f"The specified start {kind} {first} is greater than the end {kind} {end[topic_partition]} "
                f"for topic {topic_partition[0]} partition {topic_partition[1]}."
            )
