"""Numbered rows, written with the real encoder and read back with the plain decoder."""

from collections.abc import Iterable

import pyarrow as pa
from tests.patience import PATIENCE

from barnabas.client.cluster import Cluster
from barnabas.records.batch import parse_header
from barnabas.records.record import decode_records
from barnabas.spark.arrow.record_batches import RowColumns
from barnabas.spark.wire.partition_fetch import FetchedChunk, FetchSettings, PartitionFetcher


def rows(first: int, count: int, size: int = 20) -> RowColumns:
    values = [b"%08d" % number + b"." * (size - 8) for number in range(first, first + count)]
    return RowColumns(None, pa.array(values, pa.binary()), None, 1_700_000_000_000)


def numbers(chunks: Iterable[FetchedChunk]) -> list[int]:
    """Of the rows, in the order of their offsets; those of control batches are none, aborted ones are."""
    found = []
    for chunk in chunks:
        position = 0
        while position < len(chunk.records):
            header = parse_header(chunk.records[position:])
            if not header.is_control:
                batch = bytes(chunk.records[position : position + header.size])
                found += [int(record.value[:8]) for record in decode_records(batch) if record.value]
            position += header.size
    return found


def read(
    cluster: Cluster, topic: str, stop: int, *, start: int = 0, settings: FetchSettings | None = None
) -> list[int]:
    fetcher = PartitionFetcher(cluster, topic, 0, settings or FetchSettings(poll_timeout=PATIENCE))
    return numbers(fetcher.chunks(start, stop))
