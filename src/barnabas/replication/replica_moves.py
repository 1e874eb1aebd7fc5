"""Moves replicas between the log directories of this broker (KIP-113, Kafka's ReplicaAlterLogDirsThread).

A task for each partition copies the records of the current log to the future one, chunk by chunk, whatever
the role of this broker is. The future log follows truncations by epoch, as a follower follows its leader.
When it has everything it is made durable and replaces the current log, in one step of the event loop: no
append comes in between. `replica.alter.log.dirs.io.max.bytes.per.second` limits each move.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from barnabas.base.background_threads import threads_of
from barnabas.base.errors import KafkaError, ReplicaNotAvailable
from barnabas.base.ids import TopicPartition
from barnabas.replication.following_partition import append_as_follower
from barnabas.replication.partition import Partition
from barnabas.storage.directory_worker import DirectoryStalled
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.logs import Logs

logger = logging.getLogger("replication")

_CHUNK_BYTES = 512 * 1024
_AT_ONCE_BYTES = 64 * 1024
"""So few bytes, which were just written, are read without a thread: or a busy log is never caught up."""
_PAUSE_SECONDS = 0.02
_RETRY_SECONDS = 1.0

Lookup = Callable[[TopicPartition], Partition | None]


class ReplicaMoves:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        logs: Logs,
        find: Lookup,
        executor: Executor,
        loop: asyncio.AbstractEventLoop,
        bytes_per_second: Callable[[], int],
    ) -> None:
        self._logs: Logs = logs
        self._find: Lookup = find
        self._executor: Executor = executor
        self._loop: asyncio.AbstractEventLoop = loop
        self._bytes_per_second: Callable[[], int] = bytes_per_second
        self._flushed: set[TopicPartition] = set()
        """Future logs that had everything once, and were made durable then."""
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}

    def move(self, key: TopicPartition, directory: LogDirectory) -> None:
        """Move a replica to `directory`. A move to another directory ends. Raises KafkaError."""
        partition, futures = self._find(key), self._logs.futures
        if partition is None:
            self._logs.prefer(key, directory)
            raise ReplicaNotAvailable(f"{key} has no replica on this broker")
        known = futures.directory_of(key)
        if known is directory:
            return
        if known is not None:
            futures.remove(key)
        current = partition.log
        if self._logs.directory_of(key) is directory:
            return
        futures.create(key, directory, current.topic_id, current.config)
        logger.info("Moving the replica of %s to %s", key, directory.path)
        self._start(key)

    def resume(self) -> None:
        """Go on with the moves that the last stop interrupted."""
        for key in self._logs.futures:
            self._start(key)

    def lag(self, key: TopicPartition) -> int:
        """How many records a future log is behind; -1 if that is not known."""
        partition = self._find(key)
        try:
            future = self._logs.futures.get(key)
            if partition is None or future is None:
                return -1
            return max(0, partition.log.log_end_offset - future.log_end_offset)
        except KafkaError:
            return -1

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, key: TopicPartition) -> None:
        if key not in self._tasks:
            task = self._tasks[key] = self._loop.create_task(self._run(key))
            task.add_done_callback(lambda _: self._forget(key))

    def _forget(self, key: TopicPartition) -> None:
        self._tasks.pop(key, None)
        self._flushed.discard(key)

    async def _run(self, key: TopicPartition) -> None:
        while self._logs.futures.directory_of(key) is not None:
            try:
                pause = await self._step(key)
            except DirectoryStalled:
                pause = _RETRY_SECONDS
            except (KafkaError, OSError) as error:
                logger.error("The move of %s is interrupted: %s", key, error)
                pause = _RETRY_SECONDS
            except Exception:
                logger.exception("Unexpected error while %s is moved to another log directory", key)
                pause = _RETRY_SECONDS
            await asyncio.sleep(pause)

    async def _step(self, key: TopicPartition) -> float:
        """Copy a chunk, or replace the current log. Returns how many seconds to wait before the next step."""
        partition, future = self._find(key), self._logs.futures.get(key)
        if partition is None or future is None:
            return _RETRY_SECONDS  # The partition is about to be deleted here, and its future log with it.
        current = partition.log
        if current.topic_id != future.topic_id:
            logger.warning("%s is of another topic than %s: it is deleted", future.directory, key)
            self._logs.futures.remove(key)
            return 0
        copied = await self._copy(current, future)
        if current.log_end_offset != future.log_end_offset:
            return copied / max(1, self._bytes_per_second())
        if key not in self._flushed:
            await self._flush(future)
            self._flushed.add(key)
            return 0  # Records may have arrived meanwhile: a few, which are copied without a pause.
        if current.is_closed or future.is_closed or current.is_busy or future.is_busy:
            return _PAUSE_SECONDS
        self._logs.futures.replace_current(key)
        logger.info("The replica of %s is in %s now", key, future.directory.parent)
        partition.reopen()
        return 0

    async def _copy(self, current: Log, future: Log) -> int:
        """Copy the next records. Returns their size."""
        _align(current, future)
        offset, generation = future.log_end_offset, current.generation
        found = current.read(offset, _CHUNK_BYTES, up_to=current.log_end_offset)
        if found is not None:
            read = partial(found.file.read_at, found.position, found.size)
            if found.size <= _AT_ONCE_BYTES:
                data = read()
            else:
                threads = threads_of(self._executor, current.directory.parent)
                data = await self._loop.run_in_executor(threads, read)
            if current.generation != generation or current.is_closed or future.is_closed:
                return 0
            append_as_follower(future, memoryview(data))
        future.maybe_update_high_watermark(current.high_watermark)
        if future.log_start_offset < current.log_start_offset <= future.high_watermark:
            future.delete_records_before(current.log_start_offset)
        return 0 if found is None else found.size

    async def _flush(self, future: Log) -> None:
        """Make the future log durable, in a thread."""
        plan = None if future.is_busy else future.flush_plan()
        if plan is None:
            return
        try:
            await self._loop.run_in_executor(threads_of(self._executor, future.directory.parent), plan.run)
        finally:
            if not future.is_closed:
                future.flushed(plan)


def _align(current: Log, future: Log) -> None:
    """Bring the future log to a state in which the next records of the current one continue it."""
    start = current.segments.first.base_offset
    if not start <= future.log_end_offset <= current.log_end_offset or (
        future.log_end_offset == future.log_start_offset < current.log_start_offset
    ):
        future.truncate_fully_and_start_at(max(start, current.log_start_offset))
        return
    latest = future.leader_epochs.latest_epoch
    if latest < 0:
        return
    known = current.end_offset_for_epoch(latest)
    if known is None or known[0] < latest or known[1] < future.log_end_offset:
        own = None if known is None else future.end_offset_for_epoch(known[0])
        end = 0 if known is None or own is None else min(own[1], known[1])
        if end <= future.segments.first.base_offset:
            future.truncate_fully_and_start_at(current.log_start_offset)
        else:
            future.truncate_to(end)
