"""Loading a shard from the log of its partition, in steps that leave the event loop responsive.

    loading = Loading(log, buffer_size, clock, survivors)
    while (piece := loading.next_slice()) is not None:     on the loop, which owns the log
        loading.consume(piece)                             in a thread: reads the file, keeps what counts
    for _ in loading.finish(shard):                        on the loop; 5 ms at most between two steps
        ...

What counts is the topic's own affair: its `Survivors` take in the batches and replay what remains of them.

A slice holds its file, so the segment may be replaced by a compacted one or deleted while it is read. Reading
goes on to the end of the log, not to the high watermark: what the leader itself has not yet acknowledged is
state for whatever it decides next. Nobody appends to the partition while its shard is loading, so the loop
should go from the last slice to `finish` without giving others a turn in between.

A log that cannot be read, or holds a record that cannot, raises a `KafkaError` from any of the three, as
Kafka fails the load; what was replayed by then is no state to answer from.
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
    """The records of an internal topic that count (`group_survivors`, `transaction_survivors`)."""

    record_count: int
    """Records that were read, overwritten ones included."""

    def feed(self, chunk: bytes, start_offset: int, end_offset: int) -> int:
        """Take in the whole batches of `chunk` between two offsets, not a cut last one; where to go on."""
        ...

    def replay_into(self, shard: Any) -> Iterator[None]:
        """Replay what remains, in short steps; afterwards nothing does."""
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
        """Records that were read, overwritten ones included."""
        return self._survivors.record_count

    def next_slice(self) -> LogSlice | None:
        """What to consume next; None when all has been. A batch larger than the buffer comes whole."""
        log = self._log
        self._next_offset = max(self._next_offset, log.log_start_offset)
        self._end_offset = log.log_end_offset
        if self._next_offset >= self._end_offset:
            return None
        return log.read(self._next_offset, self._buffer_size, up_to=self._end_offset)

    def consume(self, piece: LogSlice) -> None:
        """Read a slice and keep of it what counts. Blocks: belongs to a thread, one at a time."""
        try:
            chunk = piece.read()
        except OSError as error:
            raise StorageError(f"reading {piece.file.path} failed: {error}") from error
        next_offset = self._survivors.feed(chunk, self._next_offset, self._end_offset)
        if next_offset <= self._next_offset:
            raise CorruptMessage(f"{piece.file.path} has no whole batch at {piece.position}")
        self._next_offset = next_offset
        self.byte_count += len(chunk)

    def finish(self, shard: Any) -> Iterator[None]:
        """Replay what counts into `shard`; gives others a turn whenever 5 ms have gone by."""
        monotonic = self._clock.monotonic
        turn_ends = monotonic() + _STEP_SECONDS
        for _ in self._survivors.replay_into(shard):
            if monotonic() >= turn_ends:
                yield
                turn_ends = monotonic() + _STEP_SECONDS
