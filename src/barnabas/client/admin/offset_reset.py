"""New offsets for a group without members: the strategies, and the plan that one of them makes.

A strategy is a value; `plan_reset` asks the cluster for what the strategy needs, and the pure function
`decide` turns it into the plan. Nothing is changed here: `group_offsets.commit_offsets` carries a plan out.
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
    """The committed offset; the end of the log where there is none."""


@dataclass(frozen=True, slots=True)
class ToOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    count: int
    """Back, if negative."""


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
    """Why a new offset is not the one that was asked for."""

    HIGHER_THAN_END = "higher than the latest offset"
    LOWER_THAN_START = "lower than the earliest offset"
    NO_RECORD_THAT_LATE = "no record at or after that time"


class NothingToShift(BadSettings):
    """There is no committed offset to count from."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What a strategy may need to know of a partition."""

    start: int
    end: int
    committed: int | None = None
    at_time: int | None = None
    """The offset of the time that is asked for; None where no record is that late."""


@dataclass(frozen=True, slots=True)
class NewOffset:
    topic: str
    partition: int
    committed: int | None
    offset: int
    asked: int | None = None
    """What the strategy came to before it was adjusted."""
    adjustment: Adjustment | None = None


def decide(strategy: Strategy, facts: Mapping[TopicPartition, PartitionFacts]) -> tuple[NewOffset, ...]:
    """By topic and partition. Raises NothingToShift."""
    return tuple(_decide_one(strategy, place, facts[place]) for place in sorted(facts))


def _decide_one(strategy: Strategy, place: TopicPartition, facts: PartitionFacts) -> NewOffset:
    match strategy:
        case ToEarliest():
            return NewOffset(*place, facts.committed, facts.start)
        case ToLatest():
            return NewOffset(*place, facts.committed, facts.end)
        case ToCurrent():
            offset = facts.end if facts.committed is None else facts.committed
            return NewOffset(*place, facts.committed, offset)
        case ToTime():
            if facts.at_time is None:
                late = Adjustment.NO_RECORD_THAT_LATE
                return NewOffset(*place, facts.committed, facts.end, None, late)
            return NewOffset(*place, facts.committed, facts.at_time)
        case ToOffset(offset):
            return _within(place, facts, offset)
        case ToOffsets(offsets):
            return _within(place, facts, offsets[place])
        case ShiftBy(count):
            if facts.committed is None:
                raise NothingToShift(
                    f"Cannot shift offset for partition {place[0]}-{place[1]} "
                    "since there is no current committed offset"
                )
            return _within(place, facts, facts.committed + count)


def _within(place: TopicPartition, facts: PartitionFacts, asked: int) -> NewOffset:
    if asked > facts.end:
        return NewOffset(*place, facts.committed, facts.end, asked, Adjustment.HIGHER_THAN_END)
    if asked < facts.start:
        return NewOffset(*place, facts.committed, facts.start, asked, Adjustment.LOWER_THAN_START)
    return NewOffset(*place, facts.committed, asked, asked)


def plan_reset(
    cluster: Cluster, group: str, partitions: Collection[TopicPartition], strategy: Strategy
) -> tuple[NewOffset, ...]:
    """Raises NothingToShift, and the first error of a partition that cannot be looked into."""
    places = list(strategy.offsets) if isinstance(strategy, ToOffsets) else list(partitions)
    if not places:
        return ()
    starts = _listed(cluster, places, EARLIEST)
    ends = _listed(cluster, places, LATEST)
    times = _listed(cluster, places, strategy.timestamp) if isinstance(strategy, ToTime) else {}
    committed = committed_offsets(cluster, group)
    facts = {
        place: PartitionFacts(
            starts[place],
            ends[place],
            committed[place].offset if place in committed else None,
            times[place] if times.get(place, -1) >= 0 else None,
        )
        for place in places
    }
    return decide(strategy, facts)


def _listed(cluster: Cluster, places: Collection[TopicPartition], time: int) -> dict[TopicPartition, int]:
    found = {}
    for place, each in list_offsets(cluster, dict.fromkeys(places, time)).items():
        if not isinstance(each, ListedOffset):
            raise each
        found[place] = each.offset
    return found
