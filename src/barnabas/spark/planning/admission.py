"""How much of what is there a micro-batch takes: `maxOffsetsPerTrigger`, `minOffsetsPerTrigger` and
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
        place: size
        for place, end in latest.items()
        if (size := end - start.get(place, earliest_of_new.get(place, 0))) > 0
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
    for place, end in latest.items():
        if place not in sizes:
            ends[place] = end
            continue
        begin = start.get(place, earliest_of_new.get(place, 0))
        ends[place] = min(end, begin + max(1, most * sizes[place] // total))
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
