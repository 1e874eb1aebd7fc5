"""Ranges of offsets and how many tasks read them: one per partition, or more by `minPartitions` and
`maxRecordsPerPartition`, with the arithmetic of Spark's KafkaOffsetRangeCalculator.

A range counts offsets, not records: compaction and transactions leave gaps.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from barnabas.spark.planning import TopicPartition
from barnabas.spark.planning.binding import OffsetLookup, bound
from barnabas.spark.planning.option_values import BadOption


@dataclass(frozen=True, slots=True)
class OffsetRange:
    topic: str
    partition: int
    start: int
    stop: int
    """Exclusive. Both ends may be EARLIEST or LATEST where they are bound late."""

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def topic_partition(self) -> TopicPartition:
        return self.topic, self.partition


def split(
    ranges: Iterable[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """Empty ranges are dropped; the order and the union of the others stay."""
    whole = [each for each in ranges if each.size > 0]
    if max_records is not None:
        whole = [part for each in whole for part in _divided(each, -(-each.size // max_records))]
    if min_partitions is None or len(whole) >= min_partitions:
        return whole
    total = sum(each.size for each in whole)
    small = [each for each in whole if _share(each.size, total, min_partitions) == 1]
    kept = {each.topic_partition for each in small}
    large_total = total - sum(each.size for each in small)
    wanted = max(min_partitions - len(small), 1)
    return [
        part
        for each in whole
        for part in _divided(
            each, 1 if each.topic_partition in kept else _share(each.size, large_total, wanted)
        )
    ]


def _share(size: int, total: int, parts: int) -> int:
    """size/total of the parts, rounded half up, at least one."""
    return max((2 * size * parts + total) // (2 * total), 1)


def _divided(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    divided, start = [], whole.start
    for left in range(parts, 0, -1):
        stop = start + (whole.stop - start) // left
        if stop > start:
            divided.append(replace(whole, start=start, stop=stop))
        start = stop
    return divided


def batch_ranges(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    lookup: OffsetLookup,
    *,
    min_partitions: int | None,
    max_records: int | None,
) -> list[OffsetRange]:
    """The ranges of a batch query; ends that were unbound stay so, also when the range is split.

    Raises BadOption where a start is after its end.
    """
    if start.keys() != end.keys():
        raise BadOption(
            f"different topic partitions for starting offsets topics[{_listed(start)}] and ending offsets "
            f"topics[{_listed(end)}]"
        )
    whole = [
        OffsetRange(*topic_partition, start[topic_partition], end[topic_partition])
        for topic_partition in sorted(start)
    ]
    for each in whole:
        if each.start > each.stop >= 0:
            raise BadOption(_start_after_end(each))
    if max_records is None and (min_partitions is None or min_partitions <= len(whole)):
        return whole
    first, last = bound(start, lookup), bound(end, lookup)
    bound_ranges = [
        OffsetRange(*topic_partition, first[topic_partition], last[topic_partition])
        for topic_partition in sorted(start)
    ]
    return _loosened(split(bound_ranges, min_partitions, max_records), start, end)


def _loosened(
    parts: Sequence[OffsetRange], start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> list[OffsetRange]:
    """The outer ends of each partition as they were given."""
    loosened = []
    for index, each in enumerate(parts):
        is_first = index == 0 or parts[index - 1].topic_partition != each.topic_partition
        is_last = index == len(parts) - 1 or parts[index + 1].topic_partition != each.topic_partition
        loosened.append(
            replace(
                each,
                start=start[each.topic_partition] if is_first else each.start,
                stop=end[each.topic_partition] if is_last else each.stop,
            )
        )
    return loosened


def _listed(offsets: Mapping[TopicPartition, int]) -> str:
    return ",".join(f"{topic}-{number}" for topic, number in sorted(offsets))


def _start_after_end(each: OffsetRange) -> str:
    return (
        f"The resolved start offset {each.start} is greater than the resolved end offset {each.stop} for "
        f"topic {each.topic} partition {each.partition}. Check whether the start offset is set beyond the "
        "end offset, or beyond the latest available offset, and whether the topic-partition is deleted and "
        "re-created."
    )
