"""Reading one range of offsets in a task: bytes from a broker, rows to Spark. Runs in Spark's Python workers.

Ends that are not bound yet are bound here. Offsets that are missing inside the log are passed over; offsets
that a log no longer has are loss: the task fails with the range, or goes on behind it. A range of a topic
that was deleted and created anew since is lost as a whole.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition

from barnabas.base.ids import decode_uuid, encode_uuid
from barnabas.spark.arrow.batch_scan import scan_pieces
from barnabas.spark.arrow.columns import decode
from barnabas.spark.offset_reader import OffsetReader
from barnabas.spark.planning.binding import bound
from barnabas.spark.planning.data_loss import Recreation, out_of_range, report
from barnabas.spark.planning.options import SourceOptions
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.progress_group import announce
from barnabas.spark.wire.cluster_settings import fetch_settings
from barnabas.spark.wire.errors import OffsetOutOfRange, TopicRecreated
from barnabas.spark.wire.partition_fetch import FetchedChunk, PartitionFetcher

_QUERY_ID = "sql.streaming.queryId"
_log = logging.getLogger("barnabas.spark")


@dataclass(frozen=True)
class RangePartition(InputPartition):
    """What one task reads."""

    topic: str
    partition: int
    start: int
    stop: int
    topic_id: str | None = None
    """Of the topic that the offsets belong to, where it is known."""
    meeting_group: str | None = None
    """Where the task leaves the query's id for the driver (`progress_group`)."""

    @classmethod
    def of(cls, each: OffsetRange, topic_id: str | None = None) -> "RangePartition":
        return cls(each.topic, each.partition, each.start, each.stop, topic_id)


def read_range(
    options: SourceOptions, columns: tuple[str, ...], part: InputPartition | None
) -> Iterator[pa.RecordBatch]:
    """Spark expects None if a batch has nothing to read."""
    if not isinstance(part, RangePartition):
        return
    reader = OffsetReader(options)
    topic_partition = part.topic, part.partition
    start = bound({topic_partition: part.start}, reader.lookup)[topic_partition]
    stop = bound({topic_partition: part.stop}, reader.lookup)[topic_partition]
    settings = fetch_settings(options.kafka, poll_timeout=options.poll_timeout_ms / 1000)
    topic_id = None if part.topic_id is None else decode_uuid(part.topic_id)
    fetcher = PartitionFetcher(reader.cluster, part.topic, part.partition, settings, topic_id)
    position = start
    while position < stop:
        try:
            for chunk in fetcher.chunks(position, stop):
                yield from _rows(chunk, part, columns, position, stop, check_crc=settings.check_crcs)
                position = chunk.next_offset
        except OffsetOutOfRange as error:
            loss = out_of_range(topic_partition, position, stop, error.log_start, error.end)
            report([loss], fails=options.fail_on_data_loss, warn=_log.warning)
            position = error.log_start if error.log_start > position else stop
        except TopicRecreated as error:
            recreation = Recreation(part.topic, encode_uuid(error.old_id), encode_uuid(error.new_id))
            report([recreation], fails=options.fail_on_data_loss, warn=_log.warning)
            position = stop
    if part.meeting_group is not None:
        _announce(reader, part, part.meeting_group)


def _rows(
    chunk: FetchedChunk,
    part: RangePartition,
    columns: tuple[str, ...],
    start: int,
    stop: int,
    *,
    check_crc: bool,
) -> Iterator[pa.RecordBatch]:
    pieces = scan_pieces(
        chunk.records,
        aborted=chunk.aborted,
        start_offset=start,
        stop_offset=stop,
        check_crc=check_crc,
        topic=part.topic,
        partition=part.partition,
    )
    for piece in pieces:
        rows = decode(piece, part.topic, part.partition, columns)
        if rows.num_rows:
            yield rows


def _announce(reader: OffsetReader, part: RangePartition, meeting_group: str) -> None:
    context = TaskContext.get()
    query = context.getLocalProperty(_QUERY_ID) if context is not None else None
    if query is not None:
        announce(reader.cluster.settings, meeting_group, (part.topic, part.partition), query)
