"""Log compaction beside traffic: selects logs, runs the workers, and swaps in the cleaned segments.

Up to `log.cleaner.threads` logs are cleaned at a time, the dirtiest first. If none needs it, the cleaner
waits for `log.cleaner.backoff.ms`. The loop plans a job and swaps its segments in, a worker does the rest.
Retention skips a log that is being cleaned. A log that is deleted, truncated or taken offline ends its
cleaning. A log whose records cannot be read is uncleanable until the next start, and is still served.
"""

import asyncio
import errno
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from barnabas.base.background_threads import threads_of
from barnabas.base.errors import KafkaError, StorageBusy
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.broker.checkpoint_writer import write_checkpoints
from barnabas.broker.cleaning_process import Worker, WorkerDied, WorkerProcess, WorkerThread
from barnabas.broker.cold_scans import ColdScans
from barnabas.broker.maintenance_context import MaintenanceContext
from barnabas.storage.checkpoints import CheckpointWrite
from barnabas.storage.cleaning.cleanable import CleanableRange
from barnabas.storage.cleaning.job import CleanedSegment, CleaningAborted, CleaningStats
from barnabas.storage.cleaning.plan import CleanerResources, CleaningPlan, cleanable_range
from barnabas.storage.deleted_files import DeletedSink
from barnabas.storage.log import Log

logger = logging.getLogger("broker")

_MOST_THREADS = 64
_LOGS_PER_STEP = 50
_GRACE_SECONDS = 2.0
"""How long a job may take to end when the broker stops. Then its process is killed."""
_WATCH_SECONDS = 1.0
"""How soon a cleaning that is no longer needed is noticed."""
_IDLE_SECONDS = 60.0
"""How long an idle worker is kept for the next job: starting one takes some tenths of a second."""
_INTERPRETER_BYTES = 24 << 20
"""Memory of a worker without any keys. Part of the bound on its memory."""
_LEAST_MEMORY = 512 << 10
_RETRIABLE = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors that are no fault of the log or its disk: retry later."""


class LogCleaner:
    def __init__(
        self,
        context: MaintenanceContext,
        fs: FileSystem,
        on_deleted: DeletedSink,
        request_flush: Callable[[Log], None],
    ) -> None:
        self._context: MaintenanceContext = context
        self._fs: FileSystem = fs
        self._on_deleted: DeletedSink = on_deleted
        self._request_flush: Callable[[Log], None] = request_flush
        self._running: dict[asyncio.Task[None], tuple[CleaningPlan, Worker]] = {}
        self._idle: list[Worker] = []
        self._idle_since: float = 0.0
        self._uncleanable: dict[TopicPartition, Log] = {}
        self._cold_scans: ColdScans = ColdScans(context.logs, context.executor)
        self._deaths: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._threads: ThreadPoolExecutor | None = None

    @property
    def uncleanable(self) -> list[TopicPartition]:
        return list(self._uncleanable)

    def start(self) -> None:
        if self._context.config.log_cleaner_enable:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End the running jobs. No segment is partly swapped afterwards."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for _, worker in self._running.values():
            worker.abort()
        await self._wait_for_running()
        for _, worker in self._running.values():
            worker.kill()
        await self._wait_for_running()
        self._stop_idle_workers()
        if self._threads is not None:
            # Do not wait for a thread that hangs on its disk: its job swaps nothing any more.
            await asyncio.to_thread(self._threads.shutdown, wait=not self._running)

    async def _wait_for_running(self) -> None:
        if self._running:
            await asyncio.wait(self._running, timeout=_GRACE_SECONDS)

    async def _run(self) -> None:
        await asyncio.sleep(self._backoff)
        while True:
            try:
                started = await self._context.holds.measured("search for logs to clean", self._start_next())
            except Exception:
                # One failed search must not end all later ones.
                logger.exception("Unexpected error in the search for logs to compact; it is retried")
                started = False
            if not started:
                await self._rest()

    async def _rest(self) -> None:
        """Wait until a job is done, or until the next search is due."""
        if not self._running:
            if self._idle and asyncio.get_running_loop().time() - self._idle_since > _IDLE_SECONDS:
                self._stop_idle_workers()
            await asyncio.sleep(self._backoff)
            return
        await asyncio.wait(
            self._running, timeout=min(self._backoff, _WATCH_SECONDS), return_when=asyncio.FIRST_COMPLETED
        )
        for plan, worker in self._running.values():
            if not plan.is_valid:
                worker.abort()

    @property
    def _backoff(self) -> float:
        return max(self._context.config.log_cleaner_backoff_ms / 1000, 0.01)

    # --- choosing -------------------------------------------------------------------------------------

    async def _start_next(self) -> bool:
        """Begin to clean the dirtiest log, if a worker is free and a log needs it."""
        if len(self._running) >= self._context.config.log_cleaner_threads:
            return False
        logs = self._context.logs
        for key in await self._cold_scans.find(logs.cold_worth_cleaning):
            try:
                logs.get(key)
            except KafkaError as error:
                logger.error("Cannot check %s for compaction: %s", key, error.message)
        candidates: list[tuple[float, Log, CleanableRange]] = []
        for number, log in enumerate(logs.opened()):
            if number % _LOGS_PER_STEP == _LOGS_PER_STEP - 1:
                await asyncio.sleep(0)
            found = self._look_at(log)
            if found is not None:
                candidates.append((found.ratio, log, found))
        self._uncleanable = {key: log for key, log in self._uncleanable.items() if not log.is_closed}
        await self._write(logs.checkpoints.cleaner_offsets())
        for _, log, found in sorted(candidates, key=lambda each: -each[0]):
            if not log.is_closed and not log.is_offline:
                self._begin(log, found)
                return True
        return False

    def _look_at(self, log: Log) -> CleanableRange | None:
        if not log.config.cleanup_compact or len(log.segments) < 2:
            return None
        key = log.topic_partition
        root = self._context.logs.directory_of(key)
        if log.is_closed or log.is_offline or log.is_being_cleaned or root is None:
            return None
        if self._uncleanable.get(key) is log:
            return None
        if log.flush_due:
            # A segment that was sealed during another flush. Only synced segments are cleaned.
            self._request_flush(log)
        known = root.cleaner_offsets.get(key)
        try:
            found = cleanable_range(log, known, self._context.clock.now_ms())
        except (OSError, KafkaError) as error:
            self._give_up(log, str(error))
            return None
        if found is not None and known is not None and known != found.first_dirty_offset:
            root.cleaner_offsets.put(key, found.first_dirty_offset)
        return found if found is not None and found.is_worth_cleaning(log.config) else None

    def _give_up(self, log: Log, reason: str) -> None:
        logger.error(
            "%s cannot be compacted until the next start, but is served: %s", log.topic_partition, reason
        )
        self._uncleanable[log.topic_partition] = log

    # --- cleaning -------------------------------------------------------------------------------------

    def _begin(self, log: Log, found: CleanableRange) -> None:
        plan = CleaningPlan.of(log, found, self._context.clock.now_ms(), self._resources())
        worker = self._idle.pop() if self._idle else self._start_worker()
        log.is_being_cleaned = True
        task = asyncio.get_running_loop().create_task(self._measured(plan, worker))
        self._running[task] = (plan, worker)
        task.add_done_callback(self._running.pop)

    async def _measured(self, plan: CleaningPlan, worker: Worker) -> None:
        await self._context.holds.measured("log cleaning", self._clean(plan, worker))

    def _resources(self) -> CleanerResources:
        threads = max(1, self._context.config.log_cleaner_threads)
        share = int(self._number("log.cleaner.dedupe.buffer.size")) // threads
        usable = int(share * self._number("log.cleaner.io.buffer.load.factor"))
        return CleanerResources(
            max(_LEAST_MEMORY, usable - min(_INTERPRETER_BYTES, usable // 2)),
            max(int(self._number("log.cleaner.io.buffer.size")) // threads // 2, 1 << 16),
            max(self._number("log.cleaner.io.max.bytes.per.second") / threads, 1.0),
        )

    def _number(self, key: str) -> float:
        value = self._context.config.get(key)
        assert isinstance(value, int | float)
        return value

    def _start_worker(self) -> Worker:
        if type(self._fs) is FileSystem:
            try:
                return WorkerProcess()
            except OSError as error:
                logger.warning(
                    "Cannot start a process for compaction; a thread of the broker is used: %s", error
                )
        return WorkerThread(self._fs)

    def _stop_idle_workers(self) -> None:
        for worker in self._idle:
            self._context.executor.submit(worker.close)
        self._idle.clear()

    async def _clean(self, plan: CleaningPlan, worker: Worker) -> None:
        log, loop = plan.log, asyncio.get_running_loop()

        def swap(cleaned: CleanedSegment) -> None:
            asyncio.run_coroutine_threadsafe(self._swap(plan, cleaned), loop).result()

        if self._threads is None:
            self._threads = ThreadPoolExecutor(_MOST_THREADS, "cleaner")
        try:
            stats = await loop.run_in_executor(self._threads, worker.clean, plan.job, swap)
        except Exception as error:  # noqa: BLE001 - `_failed` reports every error
            log.is_being_cleaned = False
            self._failed(plan, worker, error)
        else:
            log.is_being_cleaned = False
            self._idle.append(worker)
            self._idle_since = loop.time()
            self._deaths.pop(log.topic_partition, None)
            await self._done(plan, stats)

    async def _swap(self, plan: CleaningPlan, cleaned: CleanedSegment) -> None:
        deleted = plan.swap(cleaned)
        loop = asyncio.get_running_loop()
        threads = threads_of(self._context.executor, plan.log.directory.parent)
        await loop.run_in_executor(threads, self._fs.sync_dir, plan.log.directory)
        self._on_deleted(deleted)

    async def _done(self, plan: CleaningPlan, stats: CleaningStats) -> None:
        log, key = plan.log, plan.log.topic_partition
        root = self._context.logs.directory_of(key)
        if root is None or log.is_closed:
            return
        root.cleaner_offsets.put(key, min(stats.end_offset, log.log_end_offset))
        await self._write(self._context.logs.checkpoints.cleaner_offsets())
        logger.info(
            "Compacted %s, %d to %d: %.1f MB to %.1f MB, %d records to %d, %d keys, in %.2f s (%.1f MB/s)",
            key, plan.job.first_dirty_offset, stats.end_offset, stats.bytes_read / 1e6,
            stats.bytes_written / 1e6, stats.records_read, stats.records_written, stats.keys,
            stats.seconds, stats.bytes_read / 1e6 / max(stats.seconds, 1e-6),
        )  # fmt: skip
        if stats.keyless_records:
            logger.warning("%s lost %d records without a key to compaction", key, stats.keyless_records)
        if log.config.cleanup_delete and not log.is_offline:
            log.delete_old_segments()

    def _failed(self, plan: CleaningPlan, worker: Worker, error: Exception) -> None:
        key = plan.log.topic_partition
        self._context.executor.submit(worker.close)
        if isinstance(error, CleaningAborted) or not plan.is_valid:
            logger.info("The compaction of %s was ended, as the log changed or the broker stops", key)
            self._remove_leftovers_soon(plan)
        elif isinstance(error, StorageBusy):
            # A swap that has begun is finished when the directory responds: its files are kept.
            logger.warning("The compaction of %s is postponed: %s", key, error.message)
        elif isinstance(error, OSError):
            self._disk_failed(plan, error)
        elif isinstance(error, WorkerDied):
            self._deaths[key] = self._deaths.get(key, 0) + 1
            logger.warning("The compaction of %s failed: %s", key, error)
            self._remove_leftovers_soon(plan)
            if self._deaths[key] >= 3:
                self._give_up(plan.log, str(error))
        else:
            self._give_up(plan.log, str(error))

    def _disk_failed(self, plan: CleaningPlan, error: OSError) -> None:
        key = plan.log.topic_partition
        root = self._context.logs.directory_of(key)
        if error.errno in _RETRIABLE:
            logger.warning("The compaction of %s is postponed: %s", key, error)
        elif root is not None:
            root.fail(error)

    def _remove_leftovers_soon(self, plan: CleaningPlan) -> None:
        """Remove the files in a thread: the disk may hang. The log is not cleaned again before that."""

        def done(_: "asyncio.Future[None]") -> None:
            plan.log.is_being_cleaned = False

        plan.log.is_being_cleaned = True
        threads = threads_of(self._context.executor, plan.log.directory.parent)
        removal = asyncio.get_running_loop().run_in_executor(threads, self._remove_leftovers, plan)
        removal.add_done_callback(done)

    def _remove_leftovers(self, plan: CleaningPlan) -> None:
        """Remove the files of a worker that was ended. Otherwise the next start removes them."""
        directory = plan.log.directory
        try:
            for name in self._fs.listdir(directory):
                if name.endswith(".cleaned"):
                    self._fs.unlink(directory / name)
        except FileNotFoundError:
            return
        except OSError as error:
            logger.warning("Cannot remove temporary files of a compaction in %s: %s", directory, error)

    async def _write(self, writes: list[CheckpointWrite]) -> None:
        await write_checkpoints(writes, self._context.logs.checkpoints, self._context.executor)
