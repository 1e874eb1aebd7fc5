"""Loading a shard from the log of its partition, in steps that keep the event loop responsive.

    loading = Loading(log, buffer_size, clock, survivors)
    while (piece := loading.next_slice()) is not None:     on the loop, which owns the log
        loading.consume(piece)                             in a thread: reads the file, keeps live records
    for _ in loading.finish(shard):                        on the loop; 5 ms at most between two steps
        ...

Which records are live depends on the topic: its `Survivors` take in the batches and replay the live records.

A slice holds its file open, so the segment may be compacted or deleted while it is read. Reading goes on to
the log end, not to the high watermark: records that are not acknowledged yet are part of the leader's state.
Nothing is appended to the partition while its shard is loading, so the loop should go from the last slice to
`finish` without a pause.

An unreadable log or record raises a `KafkaError` from any of the three steps, as Kafka fails the load. The
state replayed until then must not be used.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from barnabas.base.clock import Clock
from barnabas.base.errors import CorruptMessage, StorageError
from barnabas.storage.log_slice import LogSlice

_STEP_SECONDS = 0.005


class SliceableLog(Protocol):
    """What loading needs of `storage.readable_log.ReadableLog`."""

    log_start_offset: int
    log_end_offset: int

    def read(self, offset: int, max_bytes: int, *, up_to: int) -> LogSlice | None: ...


class Survivors(Protocol):
    """The live records of an internal topic (`group.survivors`, `transaction.survivors`)."""

    record_count: int
    """Number of records read, overwritten ones included."""

    def feed(self, chunk: bytes, start_offset: int, end_offset: int) -> int:
        """Take in the whole batches of `chunk` between two offsets. Returns the offset to go on from."""
        ...

    def replay_into(self, shard: Any) -> Iterator[None]:
        """Replay the live records, in short steps, and release them."""
        ...


class Loading:
    def __init__(self, log: SliceableLog, buffer_size: int, clock: Clock, survivors: Survivors) -> None:
        self._log: SliceableLog = log
        self._buffer_size: int = buffer_size
        self._clock: Clock = clock
        self._survivors: Survivors = survivors
        self._next_offset: int = log.log_start_offset
        self._end_offset: int = log.log_end_offset
        self.byte_count: int = 0

    @property
    def record_count(self) -> int:
        """Number of records read, overwritten ones included."""
        return self._survivors.record_count

    def next_slice(self) -> LogSlice | None:
        """The next slice, or None at the end of the log. A batch larger than the buffer is read whole."""
        log = self._log
        self._next_offset = max(self._next_offset, log.log_start_offset)
        self._end_offset = log.log_end_offset
        if self._next_offset >= self._end_offset:
            return None
        return log.read(self._next_offset, self._buffer_size, up_to=self._end_offset)

    def consume(self, piece: LogSlice) -> None:
        """Read a slice and keep its live records. Blocks: runs in a thread, one at a time."""
        try:
            chunk = piece.read()
        except OSError as error:
            raise StorageError(f"Cannot read {piece.file.path}: {error}") from error
        next_offset = self._survivors.feed(chunk, self._next_offset, self._end_offset)
        if next_offset <= self._next_offset:
            raise CorruptMessage(f"{piece.file.path} has no whole batch at {piece.position}")
        self._next_offset = next_offset
        self.byte_count += len(chunk)

    def finish(self, shard: Any) -> Iterator[None]:
        """Replay the live records into `shard`. Yields every 5 ms, so that other work on the loop can run."""
        monotonic = self._clock.monotonic
        turn_ends = monotonic() + _STEP_SECONDS
        for _ in self._survivors.replay_into(shard):
            if monotonic() >= turn_ends:
                yield
                turn_ends = monotonic() + _STEP_SECONDS
