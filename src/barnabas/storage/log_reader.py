"""Offset -> file range: binary search for the segment, binary search in its index, a short scan of headers.

No record is read. The range ends at or before `up_to`, and where the index knows a start of a batch it ends
there, so that nothing is sent twice. Where the end of the range is not the end of its segment its position
is remembered: followers and consumers read up to the same high watermark again and again.
"""

from barnabas.storage.batch_scan import BatchPosition
from barnabas.storage.log_slice import LogSlice
from barnabas.storage.open_segments import OpenSegments
from barnabas.storage.segment import Segment
from barnabas.storage.segments import Segments


class LogReader:
    def __init__(self, segments: Segments, open_segments: OpenSegments) -> None:
        self._segments: Segments = segments
        self._open_segments: OpenSegments = open_segments
        self._limit: tuple[int, Segment, int] | None = None
        """The last (up_to, segment, position) that had to be searched for."""

    def forget(self) -> None:
        """Positions are no longer what they were."""
        self._limit = None

    def read(
        self, offset: int, max_bytes: int, up_to: int, log_end_offset: int, min_one_batch: bool
    ) -> LogSlice | None:
        """The range for `offset` < `up_to` <= `log_end_offset`; None if no batch is left there.

        Without `min_one_batch` and with less room than the first batch needs, its size is 0.
        """
        active = self._segments.active
        bound = log_end_offset
        if offset >= active.base_offset:
            segment, batch = active, active.locate(offset)
        else:
            segment, batch = self._locate_sealed(offset)
            following = self._segments.after(segment)
            if following is not None:
                bound = following.base_offset
        if batch is None:
            return None
        position, first_size, base_offset, _ = batch
        end = segment.size if up_to >= bound else self._end_position(segment, up_to)
        if position >= end:
            return None
        size, next_offset = end - position, min(up_to, bound)
        if size > max_bytes:
            size = _cut(segment, position, first_size, max_bytes, min_one_batch)
            # As in Kafka: aborted transactions are looked for up to here, not up to the end of the segment.
            beyond = segment.index.offset_from(position + size)
            next_offset = next_offset if beyond is None else min(next_offset, beyond)
        return LogSlice(segment.file_to_send(), position, size, base_offset, next_offset)

    def _locate_sealed(self, offset: int) -> tuple[Segment, BatchPosition | None]:
        """The batch that holds `offset` or the next one: compaction may have emptied the rest of it."""
        for segment in self._segments.from_offset(offset):
            if segment is not self._segments.active:
                self._open_segments.touch(segment)
            batch = segment.locate(offset)
            if batch is not None:
                return segment, batch
        return self._segments.active, None

    def _end_position(self, segment: Segment, up_to: int) -> int:
        if up_to <= segment.base_offset:
            return 0
        known = self._limit
        if known is not None and known[0] == up_to and known[1] is segment:
            return known[2]
        batch = segment.locate(up_to)
        if batch is None:
            return segment.size  # everything here is below it; not remembered, for the segment may grow
        self._limit = (up_to, segment, batch.position)
        return batch.position


def _cut(segment: Segment, position: int, first_size: int, max_bytes: int, min_one_batch: bool) -> int:
    if max_bytes <= first_size:
        return first_size if min_one_batch or max_bytes == first_size else 0
    boundary = segment.index.boundary_before(position + max_bytes)
    return boundary - position if boundary >= position + first_size else max_bytes
