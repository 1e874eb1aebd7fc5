"""Backfill: the records of a range of offsets or times that a table does not have yet, exactly once.

The range is resolved to offsets first, then read as a batch; rows whose offset is in the table are left out.
The commit remembers the range, so a stream that comes there later leaves it out in turn.
"""

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipelines.common.commit_log import Commit
from barnabas.pipelines.common.settings import BadSetting
from barnabas.pipelines.common.table import ParquetTable
from barnabas.pipelines.common.topics import FORMAT
from barnabas.pipelines.offline_load.loading import BACKFILL, arrange, count, plan, remarks
from barnabas.pipelines.offline_load.rows import PARTITION_BY, OffsetRange, is_in, table_rows
from barnabas.pipelines.offline_load.table_lock import locked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.client.cluster import Cluster


class BadRange(BadSetting):
    """A place that is neither an offset nor a time."""


def backfill(
    spark: "SparkSession",
    bootstrap_server: str,
    topic: str,
    ranges: Sequence[OffsetRange],
    table: ParquetTable,
    target_bytes: int,
) -> Commit | None:
    """None if the table has all of it."""
    if not ranges:
        return None
    with locked(table.path):
        table.recover()
        rows = table_rows(read_ranges(spark, bootstrap_server, topic, ranges))
        if table.files():
            present = spark.read.parquet(str(table.path)).where(is_in(ranges)).select("partition", "offset")
            rows = rows.join(present, ["partition", "offset"], "left_anti").select(*rows.columns)
        rows = rows.persist()
        try:
            counted = count(rows)
            if not counted:
                return None
            name = f"backfill-{uuid.uuid4().hex[:12]}"
            arranged, most = arrange(rows, plan(table, counted, target_bytes))
            writer = arranged.write.option("maxRecordsPerFile", most).partitionBy(*PARTITION_BY)
            writer.parquet(str(table.stage(name)))
        finally:
            rows.unpersist()
        properties = {"kind": BACKFILL, "ranges": json.dumps(ranges), **remarks(counted)}
        return table.commit_staged(name, label=name, properties=properties)


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
    """The offsets there are between two places. A place is an offset, a time (ISO), or nothing: as far as it
    goes. Raises BadRange, or what the cluster says.
    """
    from barnabas.client.admin.offsets import EARLIEST, LATEST, READ_COMMITTED
    from barnabas.client.admin.topics import layouts

    places = [each.index for each in layouts(cluster, [topic])[0].partitions if only in (None, each.index)]
    first = _listed(cluster, topic, places, EARLIEST)
    last = _listed(cluster, topic, places, LATEST, isolation=READ_COMMITTED)
    starts = _placed(cluster, topic, places, begin, first, last)
    stops = _placed(cluster, topic, places, end, last, last)
    ranges = [
        OffsetRange(place, max(starts[place], first[place]), min(stops[place], last[place]))
        for place in places
    ]
    return [each for each in ranges if each.start < each.stop]


def _placed(
    cluster: "Cluster",
    topic: str,
    places: list[int],
    place: str,
    default: dict[int, int],
    last: dict[int, int],
) -> dict[int, int]:
    if not place:
        return default
    if place.isdigit():
        return dict.fromkeys(places, int(place))
    try:
        moment = datetime.fromisoformat(place)
    except ValueError:
        raise BadRange(f"{place!r} is neither an offset nor a time such as 2026-11-16T09:00:00Z") from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    found = _listed(cluster, topic, places, int(zoned.timestamp() * 1000))
    return {each: offset if offset >= 0 else last[each] for each, offset in found.items()}


def _listed(
    cluster: "Cluster", topic: str, places: list[int], time: int, *, isolation: int = 0
) -> dict[int, int]:
    from barnabas.client.admin.offsets import list_offsets
    from barnabas.client.errors import BrokerError

    found = list_offsets(cluster, {(topic, place): time for place in places}, isolation=isolation)
    offsets = {}
    for (_, place), each in found.items():
        if isinstance(each, BrokerError):
            raise each
        offsets[place] = each.offset
    return offsets
