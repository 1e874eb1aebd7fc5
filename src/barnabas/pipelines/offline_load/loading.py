"""Loading a micro-batch: the rows of each topic to the topic's table, exactly once.

Every table remembers its batches, so a batch that is run again after a crash is left out by the tables that
have it and taken by those that have not.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from barnabas.pipelines.common.batch import Batch
from barnabas.pipelines.common.table import Added, Table
from barnabas.pipelines.common.table_record import Change
from barnabas.pipelines.offline_load.rows import ORDER, PARTITION_BY, OffsetRange, is_in, raw_bytes
from barnabas.pipelines.offline_load.sizes import Layout, Slice, layout, ratio_of

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster


def load(batch: Batch) -> None:
    """The frame of the batch has `rows.table_rows`, of any topics. Raises TableRefused."""
    counted = _counted(batch.frame)
    ids = ids_of_topics(batch.settings.bootstrap_server, counted)
    for topic, rows in counted.items():
        load_topic(batch, topic, rows, ids.get(topic, ""))


def load_topic(batch: Batch, topic: str, counted: list[Row], topic_id: str) -> Added | None:
    table = batch.table(topic, owner_of(topic))
    rows = batch.frame.where(sf.col("topic") == topic)
    with table.changing():
        table.recover()
        if done := backfilled(table, topic, topic_id):
            rows = rows.where(~is_in(done))
        chosen = plan(table, counted)
        return table.write_batch(
            arrange(rows, chosen),
            batch.number,
            PARTITION_BY,
            writer=batch.writer,
            change=replace(remarks(topic, topic_id, counted), plan=batch.plan()),
            records_per_file=chosen.records_per_file,
        )


def owner_of(topic: str) -> str:
    """Backfills and loads with any `--query` share the table of a topic; other pipelines have their own."""
    return f"offline-load of {topic}"


def arrange(rows: DataFrame, chosen: Layout) -> DataFrame:
    """Rows in the files they shall be in."""
    share = sf.pmod("partition", sf.lit(chosen.files_per_hour))
    return rows.repartition(chosen.tasks, *PARTITION_BY, share).sortWithinPartitions(*ORDER)


def plan(table: Table, counted: list[Row]) -> Layout:
    hours: dict[tuple[object, object], list[int]] = defaultdict(lambda: [0, 0])
    for row in counted:
        hours[row.date, row.hour][0] += row.rows
        hours[row.date, row.hour][1] += row.raw_bytes
    slices = [Slice(rows, size) for rows, size in hours.values()]
    return layout(slices, table.options.target_bytes, ratio_of(table.record().sizes))


def count(rows: DataFrame) -> list[Row]:
    """Per topic, hour and partition: rows, bytes, first and last offset."""
    groups = rows.groupBy("topic", *PARTITION_BY, "partition").agg(
        sf.count("*").alias("rows"),
        sf.sum(raw_bytes()).alias("raw_bytes"),
        sf.min("offset").alias("first"),
        sf.max("offset").alias("last"),
    )
    return groups.collect()


def remarks(topic: str, topic_id: str, counted: list[Row]) -> Change:
    """What a table records with a batch: where the stream is, and its size, for the next batch."""
    offsets: dict[str, int] = {}
    for row in counted:
        partition = str(row.partition)
        offsets[partition] = max(offsets.get(partition, 0), row["last"] + 1)
    return Change({topic: offsets}, {topic: topic_id}, raw_bytes=sum(row.raw_bytes for row in counted))


def backfilled(table: Table, topic: str, topic_id: str) -> list[OffsetRange]:
    """What backfills have put into the table: the stream leaves it out when it comes there. Ranges of a topic
    that was deleted are not those of its successor.
    """
    record = table.record().of_topics({topic: topic_id})
    return [OffsetRange(each.partition, each.start, each.stop) for each in record.backfilled]


def ids_of_topics(bootstrap_server: str, topics: Iterable[str]) -> dict[str, str]:
    """The ids that the topics have now; none for a broker that has no topic ids."""
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    with Cluster(ClientSettings.of(bootstrap_server)) as cluster:
        return ids_in(cluster, topics)


def ids_in(cluster: "Cluster", topics: Iterable[str]) -> dict[str, str]:
    from barnabas.client.admin.topics import list_topics

    wanted = set(topics)
    return {each.name: str(each.id) for each in list_topics(cluster) if each.name in wanted and each.id}


def _counted(frame: DataFrame) -> Mapping[str, list[Row]]:
    topics: dict[str, list[Row]] = defaultdict(list)
    for row in count(frame):
        topics[row.topic].append(row)
    return dict(sorted(topics.items()))
