"""New offsets for a group without members: the strategies, and the plan that one of them makes.

A strategy is a value. `plan_reset` requests the offsets that the strategy needs, and the pure function
`decide` makes the plan. Nothing is changed here: `group_offsets.commit_offsets` executes a plan.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from barnabas.client.admin.group_offsets import committed_offsets
from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.offsets import EARLIEST, LATEST, ListedOffset, list_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BadSettings


@dataclass(frozen=True, slots=True)
class ToEarliest:
    pass


@dataclass(frozen=True, slots=True)
class ToLatest:
    pass


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """The committed offset, or the end of the log if there is none."""


@dataclass(frozen=True, slots=True)
class ToOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    count: int
    """Negative moves back."""


@dataclass(frozen=True, slots=True)
class ToTime:
    timestamp: int
    """The first record at or after it, in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class ToOffsets:
    """One for each partition: from a file."""

    offsets: Mapping[TopicPartition, int]


Strategy = ToEarliest | ToLatest | ToCurrent | ToOffset | ShiftBy | ToTime | ToOffsets


class Adjustment(Enum):
    """Why a new offset differs from the requested one."""

    HIGHER_THAN_END = "higher than the latest offset"
    LOWER_THAN_START = "lower than the earliest offset"
    NO_RECORD_THAT_LATE = "no record at or after that time"


class NothingToShift(BadSettings):
    """The partition has no committed offset to shift."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """The offsets of a partition that a strategy may need."""

    start: int
    end: int
    committed: int | None = None
    at_time: int | None = None
    """The offset of the requested time. None if no record is that recent."""


@dataclass(frozen=True, slots=True)
class NewOffset:
    topic: str
    partition: int
    committed: int | None
    offset: int
    requested: int | None = None
    """The offset of the strategy before it was adjusted."""
    adjustment: Adjustment | None = None


def decide(strategy: Strategy, facts: Mapping[TopicPartition, PartitionFacts]) -> tuple[NewOffset, ...]:
    """By topic and partition. Raises NothingToShift."""
    return tuple(
        _decide_one(strategy, topic_partition, facts[topic_partition]) for topic_partition in sorted(facts)
    )


def _decide_one(strategy: Strategy, topic_partition: TopicPartition, facts: PartitionFacts) -> NewOffset:
    match strategy:
        case ToEarliest():
            return NewOffset(*topic_partition, facts.committed, facts.start)
        case ToLatest():
            return NewOffset(*topic_partition, facts.committed, facts.end)
        case ToCurrent():
            offset = facts.end if facts.committed is None else facts.committed
            return NewOffset(*topic_partition, facts.committed, offset)
        case ToTime():
            if facts.at_time is None:
                late = Adjustment.NO_RECORD_THAT_LATE
                return NewOffset(*topic_partition, facts.committed, facts.end, None, late)
            return NewOffset(*topic_partition, facts.committed, facts.at_time)
        case ToOffset(offset):
            return _within(topic_partition, facts, offset)
        case ToOffsets(offsets):
            return _within(topic_partition, facts, offsets[topic_partition])
        case ShiftBy(count):
            if facts.committed is None:
                raise NothingToShift(
                    f"Cannot shift offset for partition {topic_partition[0]}-{topic_partition[1]} "
                    "since there is no current committed offset"
                )
            return _within(topic_partition, facts, facts.committed + count)


def _within(topic_partition: TopicPartition, facts: PartitionFacts, requested: int) -> NewOffset:
    if requested > facts.end:
        return NewOffset(*topic_partition, facts.committed, facts.end, requested, Adjustment.HIGHER_THAN_END)
    if requested < facts.start:
        return NewOffset(
            *topic_partition, facts.committed, facts.start, requested, Adjustment.LOWER_THAN_START
        )
    return NewOffset(*topic_partition, facts.committed, requested, requested)


def plan_reset(
    cluster: Cluster, group: str, partitions: Collection[TopicPartition], strategy: Strategy
) -> tuple[NewOffset, ...]:
    """Raises NothingToShift, and the first error of a partition."""
    topic_partitions = list(strategy.offsets) if isinstance(strategy, ToOffsets) else list(partitions)
    if not topic_partitions:
        return ()
    starts = _listed(cluster, topic_partitions, EARLIEST)
    ends = _listed(cluster, topic_partitions, LATEST)
    times = _listed(cluster, topic_partitions, strategy.timestamp) if isinstance(strategy, ToTime) else {}
    committed = committed_offsets(cluster, group)
    facts = {
        topic_partition: PartitionFacts(
            starts[topic_partition],
            ends[topic_partition],
            committed[topic_partition].offset if topic_partition in committed else None,
            times[topic_partition] if times.get(topic_partition, -1) >= 0 else None,
        )
        for topic_partition in topic_partitions
    }
    return decide(strategy, facts)


def _listed(
    cluster: Cluster, topic_partitions: Collection[TopicPartition], time: int
) -> dict[TopicPartition, int]:
    found = {}
    for topic_partition, each in list_offsets(cluster, dict.fromkeys(topic_partitions, time)).items():
        if not isinstance(each, ListedOffset):
            raise each
        found[topic_partition] = each.offset
    return found
