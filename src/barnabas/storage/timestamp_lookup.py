"""Timestamp -> offset, exact to the record.

The first segment with a late enough timestamp is found by its largest one, the position in it by the
time index; from there headers are read, and only batches that reach the timestamp are unpacked.

A search may be long, and is done in steps (`base.steps`); large batches may be unpacked in threads. In
between the log may change, so it looks again before it touches a file.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

from barnabas.base.errors import MessageTooLarge
from barnabas.base.filesystem import LogFile
from barnabas.base.steps import Steps
from barnabas.records.batch import BatchHeader
from barnabas.records.record import unpack, unpack_view
from barnabas.records.record_scan import RecordScan
from barnabas.records.timestamp_scan import TimestampScan
from barnabas.storage.batch_scan import iter_file_headers
from barnabas.storage.open_segments import OpenSegments
from barnabas.storage.segment import Segment
from barnabas.storage.segments import Segments

_SEGMENTS_PER_STEP = 20
_HEADERS_PER_STEP = 200
_RECORDS_PER_STEP = 400
_SMALL_BATCH = 16 * 1024
_SMALL_PAYLOAD = 64 * 1024
_MOST_FALSE_CLAIMS = 64
"""So many batches of a segment are unpacked that claim more than their records have; then the best counts."""


class TimestampOffset(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int


Payload: TypeAlias = bytes | memoryview
Search: TypeAlias = Steps[TimestampOffset | None]


class TimestampLookup:
    """Searches in one log. `check` raises if the log must not be touched any more."""

    def __init__(
        self,
        segments: Segments,
        open_segments: OpenSegments,
        unpacked_limit: int,
        check: Callable[[], None],
    ) -> None:
        self._segments: Segments = segments
        self._open_segments: OpenSegments = open_segments
        self._unpacked_limit: int = unpacked_limit
        self._check: Callable[[], None] = check

    def find(self, timestamp: int, log_start_offset: int) -> Search:
        """The first record from `log_start_offset` on whose timestamp is at least `timestamp`."""
        segment: Segment | None = self._segments.first
        while segment is not None:
            self._touch(segment)
            if segment.largest_claimed_timestamp >= timestamp:
                found = yield from self._find_in(segment, timestamp, log_start_offset)
                if found is not None:  # compaction may leave a timestamp without its record
                    return found
            yield None
            self._check()
            segment = self._segments.after(segment)
        return None

    def _find_in(self, segment: Segment, timestamp: int, log_start_offset: int) -> Search:
        start = max(segment.time_index.lookup(timestamp), log_start_offset)
        file = segment.file
        headers = iter_file_headers(file, segment.index.lookup(start), segment.size)
        for number, (position, header) in enumerate(headers):
            if number % _HEADERS_PER_STEP == _HEADERS_PER_STEP - 1:
                yield None
            if header.max_timestamp < timestamp or header.last_offset < log_start_offset:
                continue
            try:
                payload = yield from self._unpacked(file, position, header)
            except MessageTooLarge:
                # Too large to be looked into: a reader that begins at its start misses nothing.
                offset = max(header.base_offset, log_start_offset)
                return TimestampOffset(offset, header.max_timestamp, header.partition_leader_epoch)
            scan = TimestampScan(payload, header, timestamp, log_start_offset)
            while not scan.step(_RECORDS_PER_STEP):
                yield None
            if scan.found is not None:
                return TimestampOffset(*scan.found, header.partition_leader_epoch)
        return None

    def find_largest(self) -> Search:
        """The first record with the largest timestamp of the log; as in Kafka that may be -1, none.

        The segment and the batch that claim it are looked at first. If the claim is false, so are others
        that are larger than what was found.
        """
        claims = []
        for number, segment in enumerate(self._segments):
            if number % _SEGMENTS_PER_STEP == _SEGMENTS_PER_STEP - 1:
                yield None
            current = self._current(segment.base_offset)
            if current is not None:
                claims.append((-current.max_timestamp, current.base_offset))
        best: TimestampOffset | None = None
        for claim, base_offset in sorted(claims):
            if best is not None and best.timestamp >= -claim:
                break
            current = self._current(base_offset)
            if current is not None:
                best = yield from self._largest_in(current, best)
        return best

    def _largest_in(self, segment: Segment, best: TimestampOffset | None) -> Search:
        """The better one of `best` and the first record with the largest timestamp of the segment."""
        largest, offset = segment.max_timestamp_and_offset
        file, unpacked = segment.file, 0
        for start in (segment.index.lookup(offset), 0):
            for number, (position, header) in enumerate(iter_file_headers(file, start, segment.size)):
                if number % _HEADERS_PER_STEP == _HEADERS_PER_STEP - 1:
                    yield None
                if (
                    header.max_timestamp != largest
                    if best is None
                    else header.max_timestamp <= best.timestamp
                ):
                    continue
                if unpacked == _MOST_FALSE_CLAIMS:
                    return best
                unpacked += 1
                found = yield from self._largest_of(file, position, header)
                if found is not None and (best is None or found.timestamp > best.timestamp):
                    best = found
            if best is None or best.timestamp >= largest:
                break
        return best

    def _largest_of(self, file: LogFile, position: int, header: BatchHeader) -> Search:
        epoch = header.partition_leader_epoch
        if not header.record_count:
            return None
        try:
            payload = yield from self._unpacked(file, position, header)
        except MessageTooLarge:
            return TimestampOffset(header.base_offset, header.max_timestamp, epoch)
        scan = RecordScan(payload, header)
        while not scan.step(_RECORDS_PER_STEP):
            yield None
        delta = scan.offset_delta_of_max
        if delta is None:
            # Records without a timestamp; negative ones are never found, as in Kafka.
            without = TimestampScan(payload, header, scan.max_timestamp, header.base_offset)
            while not without.step(_RECORDS_PER_STEP):
                yield None
            return None if without.found is None else TimestampOffset(*without.found, epoch)
        return TimestampOffset(header.base_offset + delta, scan.max_timestamp, epoch)

    def _current(self, base_offset: int) -> Segment | None:
        """The segment that begins there, if there still is one."""
        self._check()
        segment = self._segments.floor(base_offset)
        if segment is None or segment.base_offset != base_offset:
            return None
        self._touch(segment)
        return segment

    def _touch(self, segment: Segment) -> None:
        if segment is not self._segments.active:
            self._open_segments.touch(segment)

    def _unpacked(self, file: LogFile, position: int, header: BatchHeader) -> Steps[Payload]:
        if header.size <= _SMALL_BATCH:
            batch = file.read_at(position, header.size)
            try:
                return unpack(batch, header, limit=min(_SMALL_PAYLOAD, self._unpacked_limit))
            except MessageTooLarge:
                pass
        payload: Payload = yield partial(_read_and_unpack, file, position, header, self._unpacked_limit)
        return payload


def _read_and_unpack(file: LogFile, position: int, header: BatchHeader, limit: int) -> Payload:
    return unpack_view(file.read_at(position, header.size), header, limit)
