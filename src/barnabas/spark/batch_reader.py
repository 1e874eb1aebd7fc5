"""`spark.read.format("barnabas")`: the ranges of a batch query, and their tasks.

Made again in every process that Spark uses, so the constructor does nothing but keep what it is given.
"""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from barnabas.spark.offset_reader import OffsetReader
from barnabas.spark.planning.ending import ending_offsets
from barnabas.spark.planning.options import SourceOptions
from barnabas.spark.planning.ranges import batch_ranges
from barnabas.spark.planning.starting import starting_offsets

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("barnabas.spark")


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options: SourceOptions = options
        self._columns: tuple[str, ...] = columns

    def partitions(self) -> list[InputPartition]:
        from barnabas.spark.reading import RangePartition

        options = self._options
        for warning in options.warnings:
            _log.warning(warning)
        reader = OffsetReader(options)
        topic_partitions = reader.partitions()
        start = starting_offsets(
            options.start,
            topic_partitions,
            reader.lookup,
            latest_without_match=options.start_is_latest_without_match,
        )
        ranges = batch_ranges(
            start,
            ending_offsets(options.end, topic_partitions, reader.lookup),
            reader.lookup,
            min_partitions=options.min_partitions,
            max_records=options.max_records_per_partition,
        )
        return [RangePartition.of(each) for each in ranges]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        from barnabas.spark.reading import read_range

        return read_range(self._options, self._columns, partition)
