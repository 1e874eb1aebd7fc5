"""Reads a partition whole and checks it on the way: CRCs, offsets without gaps, every lookup."""

import random

from kio.schema.errors import ErrorCode
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import EARLIEST, LATEST, fetch, list_offset

from barnabas.records.batch import crc_is_valid, iter_headers
from barnabas.records.record import Record, decode_records


def bounds(client: RawClient, topic: str) -> tuple[int, int]:
    """Log start and log end (high watermark)."""
    first, last = list_offset(client, topic, EARLIEST), list_offset(client, topic, LATEST)
    assert first.error_code == last.error_code == 0
    return first.offset, last.offset


def read_all(client: RawClient, topic: str, start: int | None = None) -> list[Record]:
    """Every record from `start` (or the log start) to the high watermark, or beyond if somebody writes."""
    first, end = bounds(client, topic)
    offset = first if start is None else max(first, start)
    records: list[Record] = []
    while offset < end:
        answer = fetch(client, topic, offset, partition_max_bytes=1 << 22)
        if answer.error_code == ErrorCode.offset_out_of_range and bounds(client, topic)[0] > offset:
            offset, records = bounds(client, topic)[0], []  # retention was quicker
            continue
        assert answer.error_code == 0, answer.error_code
        assert answer.records, f"nothing at {offset} of [{first}, {end})"
        for position, header in iter_headers(answer.records):
            assert crc_is_valid(answer.records, position, header)
            records += [
                record
                for record in decode_records(answer.records[position : position + header.size])
                if record.offset >= offset
            ]
            offset = header.next_offset
    assert [record.offset for record in records] == list(range(offset - len(records), offset))
    return records


def check_lookups(
    client: RawClient, topic: str, records: list[Record], rng: random.Random, count: int
) -> None:
    """Some offsets are looked up, by offset and by time; the batch with the offset must come first."""
    for record in rng.sample(records, min(count, len(records))):
        answer = fetch(client, topic, record.offset, partition_max_bytes=1)
        assert answer.error_code == 0
        (_, header), *_ = iter_headers(answer.records)
        assert header.base_offset <= record.offset <= header.last_offset
        assert record in decode_records(answer.records[: header.size])
        if record.timestamp == records[0].timestamp:
            continue  # an older record, which is not among these, may have the same
        found = list_offset(client, topic, record.timestamp)
        first = next(each for each in records if each.timestamp >= record.timestamp)
        assert (found.offset, found.timestamp) == (first.offset, first.timestamp)
