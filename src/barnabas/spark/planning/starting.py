"""Where a new query begins. Partitions named by the user must be exactly those that are read."""

from collections.abc import Mapping, Set

from barnabas.spark.planning import Offsets, TopicPartition, name_of, names_of
from barnabas.spark.planning.binding import NO_MATCH, OffsetLookup
from barnabas.spark.planning.limits import LATEST, AtOffsets, AtTimestamp, AtTimestamps, Edge, Limit
from barnabas.spark.planning.option_values import BadOption


def starting_offsets(
    limit: Limit, partitions: Set[TopicPartition], lookup: OffsetLookup, *, latest_without_match: bool
) -> Offsets:
    """May hold EARLIEST and LATEST (`binding.bound` resolves them). Raises BadOption."""
    if isinstance(limit, Edge):
        return dict.fromkeys(partitions, limit.offset)
    if isinstance(limit, AtOffsets):
        _check_offsets(limit.offsets, partitions)
        return dict(limit.offsets)
    timestamps = timestamps_of(limit, partitions, "start")
    found = dict(lookup(timestamps)) if timestamps else {}
    for topic_partition, offset in found.items():
        if offset == NO_MATCH:
            if not latest_without_match:
                raise BadOption(
                    f"No offset matched from request of topic-partition {name_of(topic_partition)} and "
                    f"timestamp {timestamps[topic_partition]}."
                )
            found[topic_partition] = LATEST
    return found


def timestamps_of(
    limit: AtTimestamps | AtTimestamp, partitions: Set[TopicPartition], position: str
) -> dict[TopicPartition, int]:
    if isinstance(limit, AtTimestamp):
        return dict.fromkeys(partitions, limit.timestamp)
    if limit.timestamps.keys() != partitions:
        raise BadOption(
            f"Partitions specified for Kafka timestamp based {position} offsets don't match what are "
            "assigned. Maybe topic partitions are created or deleted while the query is running, or you "
            f"didn't specify all the partitions. {_both(limit.timestamps, partitions)}"
        )
    return dict(limit.timestamps)


def _check_offsets(offsets: Mapping[TopicPartition, int], partitions: Set[TopicPartition]) -> None:
    if offsets.keys() != partitions:
        raise BadOption(
            "If startingOffsets contains specific offsets, you must specify all TopicPartitions. "
            f"Use -1 for latest, -2 for earliest, if you don't care. {_both(offsets, partitions)}"
        )


def _both(specified: Mapping[TopicPartition, int], assigned: Set[TopicPartition]) -> str:
    return f"Specified: {names_of(set(specified))} Assigned: {names_of(set(assigned))}"
