"""Periodic jobs of a broker: retention, flushing, checkpoints, expiry, unlinking.

Jobs run on the event loop in small steps (a log is owned by the loop) and run blocking calls in threads.
Their cost depends on what is in use, not on what exists: a partition that was not accessed since the start is
checked by retention only, from a thread, and a checkpoint is written only if one of its offsets has changed.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from barnabas.base.background_threads import threads_of
from barnabas.base.errors import KafkaError, StorageBusy
from barnabas.broker.checkpoint_writer import write_checkpoints
from barnabas.broker.cold_scans import ColdScans
from barnabas.broker.coordinator_host import CoordinatorHost
from barnabas.broker.maintenance_context import MaintenanceContext
from barnabas.broker.periodic import Periodic
from barnabas.replication.flusher import Flusher
from barnabas.replication.partitions import Partitions
from barnabas.storage.checkpoints import CheckpointWrite
from barnabas.storage.log import Log

logger = logging.getLogger("broker")

_LOGS_PER_STEP = 20
_LONGEST_PAUSE = 24 * 3600.0

Job = Callable[[], Coroutine[Any, Any, None]]


class Housekeeping:
    def __init__(
        self,
        context: MaintenanceContext,
        flusher: Flusher,
        groups: CoordinatorHost[Any],
        transactions: CoordinatorHost[Any],
        partitions: Partitions,
    ) -> None:
        self._context: MaintenanceContext = context
        self._flusher: Flusher = flusher
        self._groups: CoordinatorHost[Any] = groups
        self._transactions: CoordinatorHost[Any] = transactions
        self._partitions: Partitions = partitions
        self._periodic: Periodic = Periodic(context.holds)
        self._cold_scans: ColdScans = ColdScans(context.logs, context.executor)

    def start(self) -> None:
        first = self._context.config.log_initial_task_delay_ms / 1000
        self._every("log.retention.check.interval.ms", self._apply_retention, first)
        self._every("log.flush.scheduler.interval.ms", self._flush_due, first)
        self._every("log.flush.offset.checkpoint.interval.ms", self._checkpoint_recovery_points, first)
        self._every("log.flush.start.offset.checkpoint.interval.ms", self._checkpoint_log_starts, first)
        self._every("replica.high.watermark.checkpoint.interval.ms", self._checkpoint_high_watermarks)
        self._every("producer.id.expiration.check.interval.ms", self._expire_producers)
        # Twice in the time that a replica may lag, as in Kafka.
        self._every("replica.lag.time.max.ms", self._check_isr, share=0.5)
        self._every("offsets.retention.check.interval.ms", self._expire_offsets)
        self._every(
            "transaction.remove.expired.transaction.cleanup.interval.ms", self._expire_transactional_ids
        )

    async def stop(self) -> None:
        await self._periodic.stop()

    def _every(self, key: str, job: Job, first_after: float | None = None, share: float = 1.0) -> None:
        def interval() -> float:
            value = self._context.config.get(key)
            assert isinstance(value, int)
            return min(value * share / 1000, _LONGEST_PAUSE)

        self._periodic.every(interval, job, name=key, first_after=first_after)

    # --- jobs -----------------------------------------------------------------------------------------

    async def _apply_retention(self) -> None:
        logs = self._context.logs
        for key in await self._cold_scans.find(logs.cold_with_old_segments):
            try:
                logs.get(key)
            except KafkaError as error:
                logger.error("Cannot apply retention to %s: %s", key, error.message)
        opened = logs.opened()
        await _in_steps(opened, _delete_old_segments)
        for number, log in enumerate(opened):
            if number % _LOGS_PER_STEP == _LOGS_PER_STEP - 1:
                await asyncio.sleep(0)
            await self._check_timestamps(log)

    async def _check_timestamps(self, log: Log) -> None:
        """Read the records of segments whose headers are old, and delete the segments that are expired."""
        loop = asyncio.get_running_loop()
        checked = None
        try:
            while (check := log.timestamp_check()) is not None and check.segment is not checked:
                checked = check.segment
                try:
                    threads = threads_of(self._context.executor, log.directory.parent)
                    await loop.run_in_executor(threads, check.run)
                finally:
                    check.abandon()
                check.apply()
                await _in_steps([log], _delete_old_segments)
        except (KafkaError, OSError) as error:
            logger.error("Cannot check the timestamps of %s: %s", log.topic_partition, error)

    async def _check_isr(self) -> None:
        for _ in self._partitions.check_isr():
            await asyncio.sleep(0)

    async def _flush_due(self) -> None:
        await _in_steps(self._context.logs.opened(), self._flusher.request_due)

    async def _expire_producers(self) -> None:
        now_ms = self._context.clock.now_ms()
        await _in_steps(self._context.logs.opened(), lambda log: log.producers.expire(now_ms))

    async def _expire_offsets(self) -> None:
        self._groups.expire()

    async def _expire_transactional_ids(self) -> None:
        self._transactions.expire()

    async def _checkpoint_recovery_points(self) -> None:
        await self._write(self._context.logs.checkpoints.recovery_points())

    async def _checkpoint_log_starts(self) -> None:
        await self._write(self._context.logs.checkpoints.log_start_offsets())

    async def _checkpoint_high_watermarks(self) -> None:
        await self._write(self._context.logs.checkpoints.high_watermarks())

    async def _write(self, writes: Sequence[CheckpointWrite]) -> None:
        await write_checkpoints(writes, self._context.logs.checkpoints, self._context.executor)


async def _in_steps(logs: Sequence[Log], job: Callable[[Log], object]) -> None:
    """Run `job` for each log. Requests are handled in between."""
    for number, log in enumerate(logs):
        if number % _LOGS_PER_STEP == _LOGS_PER_STEP - 1:
            await asyncio.sleep(0)
        if not log.is_closed and not log.is_offline:
            try:
                job(log)
            except StorageBusy:
                continue  # The next round does it.
            except KafkaError as error:
                logger.error("%s: %s", log.topic_partition, error.message)


def _delete_old_segments(log: Log) -> None:
    count = log.delete_old_segments()
    if count:
        logger.info(
            "Deleted %d segments of %s, it starts at %d", count, log.topic_partition, log.log_start_offset
        )
