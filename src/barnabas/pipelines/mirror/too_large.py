"""Records that the target does not take: larger than the `max.message.bytes` of their topic there.

The source took them: its limit is higher, or their producer had compressed them. A batch with a record above
its topic's limit is written with zstd; a record that is too large even so is put aside in the warehouse, with
a dead letter at the target, or fails the query, as `--too-large` says. Sizes are found with the encoder that
writes the records.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from barnabas.pipelines.common.record_bytes import record_bytes
from barnabas.pipelines.mirror.offset_map import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

CODEC = "zstd"
_OVERHEAD = 200
"""Of a batch with one record, from above: its header, and the lengths in front of its fields."""
_SIZES = "topic string, partition int, offset bigint, size bigint"
_COLUMNS = ("topic", "partition", "offset", "key", "value", "headers")


class TooLarge(Exception):
    """A record that cannot be copied; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class LargeRecord:
    topic: str
    partition: int
    offset: int
    size: int
    """As a batch of its own, compressed."""
    limit: int

    def __str__(self) -> str:
        return (
            f"{self.topic}-{self.partition} offset {self.offset}: {self.size} bytes when compressed, "
            f"the target takes {self.limit}"
        )

    @property
    def location(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def record_size() -> Column:
    """Of a record in a batch of its own, before compression, from above."""
    return (record_bytes() + _OVERHEAD).cast("bigint")


def large_records(
    frame: DataFrame, largest: Mapping[TopicPartition, int], limits: Mapping[str, int]
) -> list[LargeRecord]:
    """Those that do not fit, compressed. `largest` says which partitions have any to look at."""
    suspects = {topic for (topic, _), size in largest.items() if size > limits[topic]}
    if not suspects:
        return []
    may_be_large = sf.lit(False)
    for topic in sorted(suspects):
        may_be_large = may_be_large | ((sf.col("topic") == topic) & (record_size() > limits[topic]))
    sized = frame.where(may_be_large).select(*_COLUMNS).mapInArrow(_sizes, _SIZES).collect()
    found = [
        LargeRecord(row.topic, row.partition, row.offset, row["size"], limits[row.topic]) for row in sized
    ]
    return sorted((each for each in found if each.size > each.limit), key=lambda each: each.location)


def is_one_of(found: Iterable[LargeRecord]) -> Column:
    location = sf.concat_ws("/", "topic", "partition", "offset")
    return location.isin([each.location for each in found])


def reason() -> Column:
    """What a dead letter says."""
    return sf.lit("larger than the max.message.bytes of the target's topic")


def _sizes(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Runs in Spark's workers."""
    import pyarrow as pa

    from barnabas.records.compression import CODEC_NAMES
    from barnabas.spark.arrow.record_batches import RowColumns, encode

    codec = CODEC_NAMES.index(CODEC)
    for batch in batches:
        sizes = []
        for row in range(batch.num_rows):
            one = batch.slice(row, 1)
            columns = RowColumns(one.column("key"), one.column("value"), one.column("headers"), 0)
            encoded = encode(columns, codec=codec, is_transactional=True)
            sizes.append(sum(len(each.head) + len(each.body) for each in encoded))
        yield pa.record_batch(
            [
                batch.column("topic"),
                batch.column("partition"),
                batch.column("offset"),
                pa.array(sizes, pa.int64()),
            ],
            names=["topic", "partition", "offset", "size"],
        )
