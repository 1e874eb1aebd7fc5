"""The largest timestamp of a segment's records, read from the records themselves.

Where the headers of a segment and the age of its file disagree about whether retention deletes it, the
records are looked at: a header is what a producer wrote. Kafka need not do that, it walks through every
record when it is produced. Every record is read, also behind one that is too young to be deleted: the result
is used again when that one is old.

`run` goes to a thread, `apply` to the thread that owns the log. A batch that cannot be read counts as young
as its file.
"""

import threading
from collections.abc import Iterator

from barnabas.base.errors import KafkaError
from barnabas.base.filesystem import LogFile
from barnabas.records.batch import TIMESTAMP_TYPE_MASK, BatchHeader
from barnabas.records.record import unpack_view
from barnabas.records.record_scan import RecordScan
from barnabas.storage.batch_scan import iter_file_headers
from barnabas.storage.segment import Segment
from barnabas.storage.time_index import NO_TIMESTAMP

_RECORDS_PER_STEP = 1000
_WORK_PER_BATCH = 20
"""What a batch costs besides its records, in records."""
_PAUSE_S = 0.001
"""Between two steps, about as long as one: the event loop needs the interpreter too."""


class TimestampCheck:
    def __init__(self, segment: Segment, unpacked_limit: int) -> None:
        self.segment: Segment = segment
        self._file: LogFile = segment.file
        self._size: int = segment.size
        self._modified_ms: int = segment.modified_ms
        self._unpacked_limit: int = unpacked_limit
        self._largest: int | None = None
        self._abandoned: threading.Event = threading.Event()

    def run(self) -> None:
        """Read all batches, in steps."""
        largest, work = NO_TIMESTAMP, 0
        for position, header in iter_file_headers(self._file, 0, self._size):
            for timestamp in self._timestamps(position, header):
                largest = max(largest, timestamp)
                work += _WORK_PER_BATCH + min(header.record_count, _RECORDS_PER_STEP)
                if work >= _RECORDS_PER_STEP:
                    work = 0
                    if self._abandoned.wait(_PAUSE_S):
                        return
        self._largest = largest

    def _timestamps(self, position: int, header: BatchHeader) -> Iterator[int]:
        """The largest timestamp of the batch, as far as it is known after each step."""
        if header.attributes & TIMESTAMP_TYPE_MASK or not header.record_count:
            yield header.max_timestamp
            return
        try:
            batch = self._file.read_at(position, header.size)
            scan = RecordScan(unpack_view(batch, header, self._unpacked_limit), header)
            while not scan.step(_RECORDS_PER_STEP):
                yield scan.max_timestamp
            yield scan.max_timestamp
        except KafkaError:
            yield self._modified_ms

    def abandon(self) -> None:
        """The result is no longer needed: end at the next step."""
        self._abandoned.set()

    def apply(self) -> None:
        """Store the result in the segment."""
        if self._largest is not None:
            self.segment.set_checked_timestamp(self._largest, self._size)
