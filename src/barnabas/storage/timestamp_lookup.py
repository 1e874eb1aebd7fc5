"""Timestamp -> offset, exact to the record.

The first segment with a late enough timestamp is found by its largest one, the place in it by the time
index; from there headers are read, and only batches that reach the timestamp are unpacked.
"""

from typing import NamedTuple

from barnabas.records.record import record_offsets_and_timestamps
from barnabas.storage.batch_scan import iter_file_headers
from barnabas.storage.open_segments import OpenSegments
from barnabas.storage.segment import Segment
from barnabas.storage.segments import Segments


class TimestampOffset(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int


def find_by_timestamp(
    segments: Segments, open_segments: OpenSegments, timestamp: int, log_start_offset: int
) -> TimestampOffset | None:
    """The first record from `log_start_offset` on whose timestamp is at least `timestamp`."""
    for segment in segments:
        if segment is not segments.active:
            open_segments.touch(segment)
        if segment.largest_timestamp >= timestamp:
            found = _find_in_segment(segment, timestamp, log_start_offset)
            if found is not None:  # compaction may leave a timestamp without its record
                return found
    return None


def _find_in_segment(segment: Segment, timestamp: int, log_start_offset: int) -> TimestampOffset | None:
    start = max(segment.time_index.lookup(timestamp), log_start_offset)
    for position, header in iter_file_headers(segment.file, segment.index.lookup(start), segment.size):
        if header.max_timestamp < timestamp or header.last_offset < log_start_offset:
            continue
        batch = segment.file.read_at(position, header.size)
        for offset, record_timestamp in record_offsets_and_timestamps(batch):
            if record_timestamp >= timestamp and offset >= log_start_offset:
                return TimestampOffset(offset, record_timestamp, header.partition_leader_epoch)
    return None


def find_max_timestamp(segments: Segments, open_segments: OpenSegments) -> TimestampOffset | None:
    """The first record with the largest timestamp of the log; as in Kafka that may be -1, no timestamp."""
    latest = segments.first
    for segment in segments:
        if segment is not segments.active:
            open_segments.touch(segment)
        if segment.max_timestamp > latest.max_timestamp:
            latest = segment
    timestamp, offset = latest.max_timestamp_and_offset
    for position, header in iter_file_headers(latest.file, latest.index.lookup(offset), latest.size):
        if header.max_timestamp == timestamp:
            batch = latest.file.read_at(position, header.size)
            for record_offset, record_timestamp in record_offsets_and_timestamps(batch):
                if record_timestamp == timestamp:
                    return TimestampOffset(record_offset, timestamp, header.partition_leader_epoch)
    return None
