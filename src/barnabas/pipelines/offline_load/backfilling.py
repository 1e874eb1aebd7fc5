"""Backfill: the records of a range of offsets or times that a table does not have yet, exactly once.

The range is resolved to offsets first, then read as a batch; rows whose offset is in the table are left out.
The commit remembers the range, so a stream that comes there later leaves it out in turn.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipelines.common.settings import BadSetting
from barnabas.pipelines.common.table import Added, Table
from barnabas.pipelines.common.table_record import Backfilled, Change
from barnabas.pipelines.common.topics import FORMAT
from barnabas.pipelines.offline_load.loading import arrange, count, plan
from barnabas.pipelines.offline_load.rows import PARTITION_BY, OffsetRange, is_in, table_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.client.cluster import Cluster


class BadRange(BadSetting):
    """A bound of a range that is neither an offset nor a time."""


def backfill(
    spark: "SparkSession",
    bootstrap_server: str,
    topic: str,
    ranges: Sequence[OffsetRange],
    table: Table,
    topic_id: str,
) -> Added | None:
    """None if the table has all of it. Raises TableRefused."""
    if not ranges:
        return None
    with table.changing():
        table.recover()
        rows = table_rows(read_ranges(spark, bootstrap_server, topic, ranges))
        if table.files():
            # With the time: a topic that was deleted and created anew has the same offsets once more.
            key = ["partition", "offset", "timestamp"]
            present = table.read(spark).where(is_in(ranges)).select(*key)
            rows = rows.join(present, key, "left_anti").select(*rows.columns)
        rows = rows.persist()
        try:
            counted = count(rows)
            if not counted:
                return None
            chosen = plan(table, counted)
            change = Change(
                topic_ids={topic: topic_id},
                backfilled=tuple(Backfilled(topic_id, *each) for each in ranges),
                raw_bytes=sum(row.raw_bytes for row in counted),
            )
            return table.append(
                arrange(rows, chosen), PARTITION_BY, change, records_per_file=chosen.records_per_file
            )
        finally:
            rows.unpersist()


def read_ranges(
    spark: "SparkSession", bootstrap_server: str, topic: str, ranges: Sequence[OffsetRange]
) -> "DataFrame":
    """A batch of exactly these offsets."""
    starts = {topic: {str(each.partition): each.start for each in ranges}}
    stops = {topic: {str(each.partition): each.stop for each in ranges}}
    return (
        spark.read.format(FORMAT)
        .option("kafka.bootstrap.servers", bootstrap_server)
        .option("kafka.isolation.level", "read_committed")
        .option("assign", json.dumps({topic: [each.partition for each in ranges]}))
        .option("startingOffsets", json.dumps(starts))
        .option("endingOffsets", json.dumps(stops))
        .option("includeHeaders", "true")
        .load()
    )


def resolve(
    cluster: "Cluster", topic: str, begin: str, end: str, only: int | None = None
) -> list[OffsetRange]:
    """The available offsets between two bounds. A bound is an offset, a time (ISO), or empty: the start or
    the end of the log. Raises BadRange, or the error of the cluster.
    """
    from barnabas.client.admin.offsets import EARLIEST, LATEST, READ_COMMITTED
    from barnabas.client.admin.topics import layouts

    partitions = [
        each.index for each in layouts(cluster, [topic])[0].partitions if only in (None, each.index)
    ]
    first = _listed(cluster, topic, partitions, EARLIEST)
    last = _listed(cluster, topic, partitions, LATEST, isolation=READ_COMMITTED)
    starts = _offsets_at(cluster, topic, partitions, begin, first, last)
    stops = _offsets_at(cluster, topic, partitions, end, last, last)
    ranges = [
        OffsetRange(
            partition, max(starts[partition], first[partition]), min(stops[partition], last[partition])
        )
        for partition in partitions
    ]
    return [each for each in ranges if each.start < each.stop]


def _offsets_at(
    cluster: "Cluster",
    topic: str,
    partitions: list[int],
    bound: str,
    default: dict[int, int],
    last: dict[int, int],
) -> dict[int, int]:
    if not bound:
        return default
    if bound.isdigit():
        return dict.fromkeys(partitions, int(bound))
    try:
        moment = datetime.fromisoformat(bound)
    except ValueError:
        raise BadRange(f"{bound!r} is neither an offset nor a time such as 2026-11-16T09:00:00Z") from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    found = _listed(cluster, topic, partitions, int(zoned.timestamp() * 1000))
    return {each: offset if offset >= 0 else last[each] for each, offset in found.items()}


def _listed(
    cluster: "Cluster", topic: str, partitions: list[int], time: int, *, isolation: int = 0
) -> dict[int, int]:
    from barnabas.client.admin.offsets import list_offsets
    from barnabas.client.errors import BrokerError

    found = list_offsets(cluster, {(topic, partition): time for partition in partitions}, isolation=isolation)
    offsets = {}
    for (_, partition), each in found.items():
        if isinstance(each, BrokerError):
            raise each
        offsets[partition] = each.offset
    return offsets
