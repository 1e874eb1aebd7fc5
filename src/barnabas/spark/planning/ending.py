"""Where a batch query ends. A time after the last record means the end of the log, here and in Spark."""

from collections.abc import Set

from barnabas.spark.planning import Offsets, TopicPartition, names_of
from barnabas.spark.planning.binding import NO_MATCH, OffsetLookup
from barnabas.spark.planning.limits import LATEST, AtOffsets, Edge, Limit
from barnabas.spark.planning.option_values import BadOption
from barnabas.spark.planning.starting import timestamps_of


def ending_offsets(limit: Limit, partitions: Set[TopicPartition], lookup: OffsetLookup) -> Offsets:
    """May hold LATEST. Raises BadOption."""
    if isinstance(limit, Edge):
        return dict.fromkeys(partitions, limit.offset)
    if isinstance(limit, AtOffsets):
        if limit.offsets.keys() != partitions:
            raise BadOption(
                "Partitions specified for Kafka end offsets don't match what are assigned. Maybe topic "
                "partitions are created or deleted while the query is running. Use -1 for latest. "
                f"Specified: {names_of(set(limit.offsets))} Assigned: {names_of(set(partitions))}"
            )
        return dict(limit.offsets)
    timestamps = timestamps_of(limit, partitions, "end")
    found = lookup(timestamps) if timestamps else {}
    return {
        topic_partition: LATEST if offset == NO_MATCH else offset for topic_partition, offset in found.items()
    }
