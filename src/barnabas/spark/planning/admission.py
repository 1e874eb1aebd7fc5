"""How many of the available offsets a micro-batch takes: `maxOffsetsPerTrigger`, `minOffsetsPerTrigger` and
`maxTriggerDelay`.

The largest number is split over the partitions in proportion to what each has waiting; a partition with
anything waiting gets at least one offset, so that small ones do not starve (SPARK-26718 and its kin: Python's
integers do not overflow). The clock is an argument.
"""

from collections.abc import Mapping

from barnabas.spark.planning import Offsets, TopicPartition


def waiting(
    start: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    earliest_of_new: Mapping[TopicPartition, int],
) -> Offsets:
    """Offsets not read yet, by partition; partitions without any are left out."""
    return {
        topic_partition: size
        for topic_partition, end in latest.items()
        if (size := end - start.get(topic_partition, earliest_of_new.get(topic_partition, 0))) > 0
    }


def limited(
    most: int,
    start: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    earliest_of_new: Mapping[TopicPartition, int],
) -> Offsets:
    """The end of a batch of about `most` offsets; never beyond `latest`."""
    sizes = waiting(start, latest, earliest_of_new)
    total = sum(sizes.values())
    ends: Offsets = {}
    for topic_partition, end in latest.items():
        if topic_partition not in sizes:
            ends[topic_partition] = end
            continue
        begin = start.get(topic_partition, earliest_of_new.get(topic_partition, 0))
        ends[topic_partition] = min(end, begin + max(1, most * sizes[topic_partition] // total))
    return ends


class TriggerDelay:
    """Whether a batch waits for `least` offsets, and for how long at most."""

    def __init__(self, least: int, longest_ms: int) -> None:
        self._least: int = least
        self._longest_ms: int = longest_ms
        self._last_ms: float | None = None

    def must_wait(self, available: int, now_ms: float) -> bool:
        """The first batch never waits. A batch that may go counts as triggered now."""
        is_due = self._last_ms is None or now_ms - self._last_ms >= self._longest_ms
        if not is_due and available < self._least:
            return True
        self._last_ms = now_ms
        return False
