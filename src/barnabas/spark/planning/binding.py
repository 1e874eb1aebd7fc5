"""Resolves options to offsets, with a function of the caller that requests them from brokers.

`OffsetLookup` maps partitions to timestamps (or LATEST, EARLIEST) and returns offsets, -1 if no record is
that young. Offsets may stay unbound (LATEST, EARLIEST): a batch query binds them when its tasks run, as
Spark's connector does, so that a DataFrame used twice sees what has arrived in between.
"""

from collections.abc import Callable, Mapping

from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.limits import EARLIEST, LATEST

OffsetLookup = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, int]]

NO_MATCH = -1


def bound(offsets: Mapping[TopicPartition, int], lookup: OffsetLookup) -> Offsets:
    """No EARLIEST or LATEST is left."""
    unbound = {
        topic_partition: offset for topic_partition, offset in offsets.items() if offset in (EARLIEST, LATEST)
    }
    found = lookup(unbound) if unbound else {}
    return {
        topic_partition: found.get(topic_partition, offset) for topic_partition, offset in offsets.items()
    }
