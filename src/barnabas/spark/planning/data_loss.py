"""Records that a stream can no longer read, named by offset, and the effect of `failOnDataLoss`.

Loss is what lies before a log's start or after its end, or in a deleted partition, or in a topic that was
deleted and created again: offsets of the earlier topic mean nothing in the new one. Offsets missing
inside a log (compaction, transaction markers, aborted records) are no loss and never come here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from barnabas.spark.planning import Offsets, TopicPartition, name_of
from barnabas.spark.planning.offset_json import TopicIds
from barnabas.spark.planning.ranges import OffsetRange

_ADVICE = (
    "Some data may have been lost because they are not available in Kafka any more; either the data was aged "
    "out by Kafka or the topic may have been deleted before all the data in the topic was processed. "
)
_FAILS = (
    "If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss to "
    "false. "
)
_WARNS = (
    "If you want your streaming query to fail on such cases, set the source option failOnDataLoss to true. "
)


class DataLoss(Exception):
    """Records that a query should have read are lost. The message names them."""


@dataclass(frozen=True, slots=True)
class Loss:
    topic_partition: TopicPartition
    first: int
    stop: int | None
    """Exclusive. None if the end is unknown."""
    reason: str

    def __str__(self) -> str:
        if self.stop is None:
            lost = f"offsets from {self.first} on are lost"
        elif self.stop == self.first + 1:
            lost = f"offset {self.first} is lost"
        else:
            lost = f"offsets {self.first}..{self.stop - 1} are lost"
        return f"{name_of(self.topic_partition)}: {lost} ({self.reason})"


@dataclass(frozen=True, slots=True)
class Recreation:
    """A topic that was deleted and created again since its offsets were recorded."""

    topic: str
    old_id: str
    new_id: str

    def __str__(self) -> str:
        return (
            f"{self.topic}: the topic was deleted and created anew (its id was {self.old_id} and is "
            f"{self.new_id} now): what was not read of the earlier topic is lost, and the new one begins anew"
        )


@dataclass(frozen=True, slots=True)
class Planned:
    ranges: list[OffsetRange]
    """As the offsets say it, with what is lost: tasks are numbered by them (`readable`)."""
    losses: list[Loss]


def recreations(known: TopicIds, now: TopicIds) -> list[Recreation]:
    """A topic without an id on either side (old brokers, Spark's connector) is taken as the same."""
    return [
        Recreation(topic, known[topic], now[topic])
        for topic in sorted(known.keys() & now.keys())
        if known[topic] != now[topic]
    ]


def without_recreated(offsets: Offsets, recreated: Sequence[Recreation]) -> Offsets:
    """What is left of the known offsets; the new topics' partitions are new, and begin at their start."""
    lost = {each.topic for each in recreated}
    return {
        topic_partition: offset
        for topic_partition, offset in offsets.items()
        if topic_partition[0] not in lost
    }


def plan_ranges(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    earliest: Mapping[TopicPartition, int],
) -> Planned:
    """What a micro-batch reads, and what of it is lost. `earliest` knows the partitions that still exist.

    A partition that is not in `start` is new and begins at its earliest offset.
    """
    ranges: list[OffsetRange] = []
    losses = [
        Loss(topic_partition, start[topic_partition], None, "the partition was deleted")
        for topic_partition in sorted(start.keys() - end.keys())
    ]
    for topic_partition in sorted(end):
        stop = end[topic_partition]
        is_new = topic_partition not in start
        first = 0 if is_new else start[topic_partition]
        if topic_partition not in earliest:
            if is_new or stop > first:
                losses.append(Loss(topic_partition, first, stop, "the partition was deleted"))
                ranges.append(OffsetRange(*topic_partition, first, stop))
            continue
        if stop < first:
            losses.append(
                Loss(
                    topic_partition,
                    stop,
                    first,
                    f"log ends at {stop}: records were cut off, or the topic was made anew",
                )
            )
            continue
        begin = max(first, earliest[topic_partition])
        if begin > first and (is_new or stop > first):
            losses.append(
                Loss(
                    topic_partition,
                    first,
                    _lost_until(stop, begin, is_new),
                    _starts_at(earliest[topic_partition]),
                )
            )
        if first < stop:
            ranges.append(OffsetRange(*topic_partition, first, stop))
    return Planned(ranges, losses)


def readable(ranges: Sequence[OffsetRange], earliest: Mapping[TopicPartition, int]) -> list[OffsetRange]:
    """The ranges without what is lost, in the same order and number: one that is lost as a whole is empty.

    A batch that runs again after records expired has each of its partitions in the task that had it before.
    Exactly once rests on that where a batch was decided and its transactions timed out.
    """
    return [
        replace(each, start=min(max(each.start, earliest.get(each.topic_partition, each.stop)), each.stop))
        for each in ranges
    ]


def _lost_until(stop: int, begin: int, is_new: bool) -> int:
    return begin if is_new else min(begin, stop)


def _starts_at(offset: int) -> str:
    return f"log starts at {offset}"


def out_of_range(
    topic_partition: TopicPartition, requested: int, stop: int, log_start: int, log_end: int
) -> Loss:
    """What a broker's OFFSET_OUT_OF_RANGE means for the range [requested, stop)."""
    if requested < log_start:
        return Loss(topic_partition, requested, min(log_start, stop), _starts_at(log_start))
    return Loss(
        topic_partition,
        max(log_end, 0) if log_end < requested else requested,
        stop,
        f"log ends at {log_end}: records were cut off, or the topic was made anew",
    )


def report(losses: Sequence[Loss | Recreation], *, fails: bool, warn: Callable[[str], None]) -> None:
    """Raise DataLoss, or warn and go on with what is left."""
    if not losses:
        return
    named = "; ".join(map(str, losses))
    if fails:
        raise DataLoss(f"[KAFKA_DATA_LOSS] {_ADVICE}{_FAILS}Reason: {named}")
    warn(f"{_ADVICE}{_WARNS}Reason: {named}")
