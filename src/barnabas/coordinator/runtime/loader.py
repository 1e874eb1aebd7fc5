"""Loads shards one after the other: slices and replay belong to the loop, reading bytes to a thread.

A shard that is given up meanwhile is left alone. A log that cannot be read closes its shard, with a line in
the broker's log: better no coordinator than one that has forgotten.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from barnabas.base.background_threads import threads_of
from barnabas.base.clock import Clock
from barnabas.base.errors import KafkaError, NotCoordinator
from barnabas.base.loop_holds import LoopHolds
from barnabas.coordinator.runtime.hosted_shard import HostedShard, ShardState
from barnabas.coordinator.runtime.loading import Loading, Survivors
from barnabas.replication.partition import Partition

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
        """Load a shard as soon as those before it are done; one without records is there at once."""
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
                logger.error("%s cannot be loaded: %s", partition.topic_partition, error.message)
                hosted.close(NotCoordinator(f"the coordinator could not be loaded: {error.message}"))
            except Exception:
                logger.exception("%s cannot be loaded", partition.topic_partition)
                hosted.close(NotCoordinator("the coordinator could not be loaded"))

    async def _load(self, hosted: HostedShard[Any], partition: Partition) -> None:
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        loading = Loading(partition.log, self._buffer_size, self._clock, self._make_survivors())
        threads = threads_of(self._executor, partition.log.directory.parent)
        while hosted.state is ShardState.LOADING and (piece := loading.next_slice()) is not None:
            await loop.run_in_executor(threads, loading.consume, piece)
        for _ in loading.finish(hosted.shard):
            await asyncio.sleep(0)
            if hosted.state is not ShardState.LOADING:
                return
        if hosted.state is ShardState.LOADING:
            hosted.activate()
            logger.info(
                "Loaded %s: %d records, %d bytes, %.0f ms",
                partition.topic_partition,
                loading.record_count,
                loading.byte_count,
                (time.monotonic() - started) * 1000,
            )
