"""Loads shards one after the other. Slices and replay run on the loop, reading bytes in a thread.

A loaded shard is active once the high watermark has reached the end of what it has replayed: until then its
state may hold records that a later leader does not have. The next shards are loaded meanwhile.
A shard that is given up meanwhile is skipped. A log that cannot be read closes its shard and is reported in
the broker's log: no coordinator is better than one with missing state.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from barnabas.base.background_threads import threads_of
from barnabas.base.clock import Clock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError, NotCoordinator, NotEnoughReplicasAfterAppend
from barnabas.base.loop_holds import LoopHolds
from barnabas.replication.partition import Partition
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.runtime.loading import Loading, Survivors

logger = logging.getLogger("coordinator")


class Loader:
    def __init__(
        self,
        executor: Executor,
        buffer_size: int,
        clock: Clock,
        make_survivors: Callable[[], Survivors],
        holds: LoopHolds | None = None,
    ) -> None:
        self._executor: Executor = executor
        self._buffer_size: int = buffer_size
        self._clock: Clock = clock
        self._make_survivors: Callable[[], Survivors] = make_survivors
        self._holds: LoopHolds = holds or LoopHolds()
        self._waiting: deque[tuple[HostedShard[Any], Partition]] = deque()
        self._task: asyncio.Task[None] | None = None

    def load(self, hosted: HostedShard[Any], partition: Partition) -> None:
        """Load a shard after those queued before it. A shard without records is active at once."""
        if partition.is_known_empty:
            hosted.activate()
            return
        self._waiting.append((hosted, partition))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while self._waiting:
            hosted, partition = self._waiting.popleft()
            try:
                await self._holds.measured("loading of a coordinator", self._load(hosted, partition))
            except KafkaError as error:
                if not hosted.is_loading:
                    continue  # The log may be truncated by now.
                logger.error(
                    "Cannot load the coordinator of %s; its requests fail with NOT_COORDINATOR until "
                    "the broker restarts or the partition moves: %s",
                    partition.topic_partition,
                    error.message,
                )
                hosted.close(NotCoordinator(f"The coordinator could not be loaded: {error.message}"))
            except Exception:
                logger.exception(
                    "Unexpected error while loading the coordinator of %s", partition.topic_partition
                )
                hosted.close(NotCoordinator("The coordinator could not be loaded"))

    async def _load(self, hosted: HostedShard[Any], partition: Partition) -> None:
        started = self._clock.monotonic()
        loop = asyncio.get_running_loop()
        loading = Loading(partition.log, self._buffer_size, self._clock, self._make_survivors())
        threads = threads_of(self._executor, partition.log.directory.parent)
        while hosted.is_loading and (piece := loading.next_slice()) is not None:
            await loop.run_in_executor(threads, loading.consume, piece)
        for _ in loading.finish(hosted.shard):
            await asyncio.sleep(0)
            if not hosted.is_loading:
                return
        if hosted.is_loading:
            logger.info(
                "Loaded %s: %d records, %d bytes, %.0f ms",
                partition.topic_partition,
                loading.record_count,
                loading.byte_count,
                (self._clock.monotonic() - started) * 1000,
            )
            _activate_when_committed(hosted, partition)


def _activate_when_committed(hosted: HostedShard[Any], partition: Partition) -> None:
    end_offset = partition.log.log_end_offset

    def on_committed(done: "Deferred[None]") -> None:
        if not hosted.is_loading:
            return
        if done.error is None or isinstance(done.error, NotEnoughReplicasAfterAppend):
            hosted.activate()
        else:
            hosted.close(NotCoordinator(done.error.message))

    partition.when_committed(end_offset).when_done(on_committed)
