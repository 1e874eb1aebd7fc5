"""What a stream cannot read any more, named to the offset, and what then: `failOnDataLoss`.

Loss is what lies before a log's start or after its end, or in a partition that is gone. Offsets missing
inside a log (compaction, transaction markers, aborted records) are no loss and never come here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from barnabas.spark.planning import TopicPartition, name_of
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
    """Records that a query should have read are gone; the message names them."""


@dataclass(frozen=True, slots=True)
class Loss:
    place: TopicPartition
    first: int
    stop: int | None
    """Exclusive; None where nobody can say."""
    reason: str

    def __str__(self) -> str:
        if self.stop is None:
            gone = f"offsets from {self.first} on are gone"
        elif self.stop == self.first + 1:
            gone = f"offset {self.first} is gone"
        else:
            gone = f"offsets {self.first}..{self.stop - 1} are gone"
        return f"{name_of(self.place)}: {gone} ({self.reason})"


@dataclass(frozen=True, slots=True)
class Planned:
    ranges: list[OffsetRange]
    losses: list[Loss]


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
        Loss(place, start[place], None, "the partition was deleted")
        for place in sorted(start.keys() - end.keys())
    ]
    for place in sorted(end):
        stop = end[place]
        is_new = place not in start
        first = 0 if is_new else start[place]
        if place not in earliest:
            if is_new or stop > first:
                losses.append(Loss(place, first, stop, "the partition was deleted"))
            continue
        if stop < first:
            losses.append(
                Loss(
                    place,
                    stop,
                    first,
                    f"log ends at {stop}: records were cut off, or the topic was made anew",
                )
            )
            continue
        begin = max(first, earliest[place])
        if begin > first and (is_new or stop > first):
            losses.append(Loss(place, first, _gone_until(stop, begin, is_new), _starts_at(earliest[place])))
        if begin < stop:
            ranges.append(OffsetRange(*place, begin, stop))
    return Planned(ranges, losses)


def _gone_until(stop: int, begin: int, is_new: bool) -> int:
    return begin if is_new else min(begin, stop)


def _starts_at(offset: int) -> str:
    return f"log starts at {offset}"


def out_of_range(place: TopicPartition, requested: int, stop: int, log_start: int, log_end: int) -> Loss:
    """What a broker's OFFSET_OUT_OF_RANGE means for the range [requested, stop)."""
    if requested < log_start:
        return Loss(place, requested, min(log_start, stop), _starts_at(log_start))
    return Loss(
        place,
        max(log_end, 0) if log_end < requested else requested,
        stop,
        f"log ends at {log_end}: records were cut off, or the topic was made anew",
    )


def report(losses: Sequence[Loss], *, fails: bool, warn: Callable[[str], None]) -> None:
    """Raise DataLoss, or warn and go on with what is left."""
    if not losses:
        return
    named = "; ".join(map(str, losses))
    if fails:
        raise DataLoss(f"[KAFKA_DATA_LOSS] {_ADVICE}{_FAILS}Reason: {named}")
    warn(f"{_ADVICE}{_WARNS}Reason: {named}")
