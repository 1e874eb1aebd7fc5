"""All logs of a broker, over all its log directories.

After a clean stop a log is registered by its directory's name and opened when it is first used; after
an unclean one all logs of the directory are recovered, in threads, before the broker starts. The loop's
thread calls everything here except what says otherwise; `CheckpointWrite.run` and `FlushPlan.run` go to
threads.

Order of a clean stop: the logs are closed (records, indexes, snapshots synced), then the checkpoints
written, then the marker: if the marker exists, all the rest is durable. A directory with a log that could
not be recovered, or not be closed, gets no marker: the next start recovers it again.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from uuid import UUID

from barnabas.base.clock import Clock, SystemClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.descriptors import is_shortage
from barnabas.base.errors import KafkaError, StorageBusy, StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage import names
from barnabas.storage.checkpoints import CheckpointWrite
from barnabas.storage.closing import close_logs
from barnabas.storage.cold_log import ColdLog, ColdQuestion, find_cold
from barnabas.storage.deleted_files import DeletedFiles, DeletedSink, unlink_now
from barnabas.storage.directory_description import DirectoryDescription as DirectoryDescription
from barnabas.storage.directory_description import describe_directory
from barnabas.storage.directory_worker import DirectoryStalled
from barnabas.storage.directory_workers import DirectoryWorkers
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.found_logs import FoundLogs, find_logs, set_aside_duplicates
from barnabas.storage.future_logs import FutureLogs, adopt_futures
from barnabas.storage.index_sums import write_sums
from barnabas.storage.log import Log
from barnabas.storage.log_checkpoints import LogCheckpoints
from barnabas.storage.log_directory import LogDirectory, LogDirectoryError
from barnabas.storage.log_opener import LogOpener
from barnabas.storage.log_table import LogTable
from barnabas.storage.logs_settings import LogsSettings as LogsSettings
from barnabas.storage.open_files import OpenFiles
from barnabas.storage.renamed_logs import RenamedLogs

_logger = logging.getLogger(__name__)


def _ignore_offline(directory: LogDirectory, error: OSError) -> None:
    """The caller needs no notification."""


class Logs:
    def __init__(
        self,
        paths: Sequence[Path],
        settings: LogsSettings,
        config_for: Callable[[str], LogConfig],
        *,
        fs: FileSystem | None = None,
        clock: Clock | None = None,
        rng: Random | None = None,
        on_offline: Callable[[LogDirectory, OSError], None] = _ignore_offline,
        on_deleted: DeletedSink = unlink_now,
        topic_id_of: Callable[[str], UUID | None] = lambda _: None,
    ) -> None:
        self.cluster_id: str | None = settings.cluster_id
        self.failed: dict[TopicPartition, str] = {}
        """Logs that could not be opened, and why; their files are left alone."""
        self.set_aside: list[Path] = []
        """Directories marked `-stray`, which are not ours to use."""
        self._settings: LogsSettings = settings
        self._config_for: Callable[[str], LogConfig] = config_for
        self._on_offline: Callable[[LogDirectory, OSError], None] = on_offline
        self._topic_id_of: Callable[[str], UUID | None] = topic_id_of
        self._environment: LogEnvironment = LogEnvironment(
            fs or FileSystem(),
            clock or SystemClock(),
            rng or SystemRandom(),
            open_files=OpenFiles(settings.descriptors),
            producer_expiration_ms=settings.producer_expiration_ms,
            on_deleted=on_deleted,
        )
        self._environment.fs.on_shortage = self._environment.open_files.make_room
        self.directories: list[LogDirectory] = [
            LogDirectory(path, self._environment.fs, self._environment.clock, self._environment.rng)
            for path in paths
        ]
        self._table: LogTable = LogTable()
        self.workers: DirectoryWorkers = DirectoryWorkers(paths, self._environment.fs)
        self._being_created: set[TopicPartition] = set()
        """Logs that a directory which does not respond will create."""
        self._renamed: RenamedLogs = RenamedLogs(self._environment.fs, self.workers)
        self.checkpoints: LogCheckpoints = LogCheckpoints(self.directories, self._table)
        self._opener: LogOpener = LogOpener(self._environment, self.workers, self.checkpoints, config_for)
        self.futures: FutureLogs = FutureLogs(self._table, self._opener, self.checkpoints, self._environment)
        self._preferred: dict[TopicPartition, LogDirectory] = {}

    # ---- start

    def open_all(self) -> None:
        """Claim the directories, register their logs, recover where the last stop was not clean."""
        found: dict[LogDirectory, FoundLogs] = {}
        for directory in self.directories:
            directory.on_offline = self._directory_failed
            with self._failing(directory):
                self._claim(directory)
                found[directory] = find_logs(directory, self._environment.fs)
        set_aside_duplicates(found, self._topic_id_of, self._environment.fs, self._environment.rng)
        adopt_futures(found, self.directories, self._environment)
        for directory, logs in found.items():
            with self._failing(directory):
                self._register(directory, logs)
        if not any(directory.is_online for directory in self.directories):
            reasons = "; ".join(f"{directory.path}: {directory.error}" for directory in self.directories)
            raise LogDirectoryError(f"none of the log directories can be used: {reasons}")

    @contextmanager
    def _failing(self, directory: LogDirectory) -> Iterator[None]:
        """An error of the disk takes the directory offline; the start goes on with the others."""
        try:
            yield
        except OSError as error:
            if is_shortage(error):
                raise
            directory.fail(error)

    def _claim(self, directory: LogDirectory) -> None:
        directory.claim(self._settings.node_id, self.cluster_id)
        self.cluster_id = directory.cluster_id

    def _register(self, directory: LogDirectory, found: FoundLogs) -> None:
        for path in found.deleted:
            self._unlink_directory(path, delay_ms=0)
        for path in found.set_aside:
            _logger.warning(
                "%s is not used by this broker: leaving it unchanged. Delete it if it is not needed", path
            )
            self.set_aside.append(path)
        self._table.roots.update(dict.fromkeys(found.logs, directory))
        self._table.cold.update(found.logs)
        for key, future in found.futures.items():
            if key not in self._table.futures:
                self._table.futures[key], self._table.future_roots[key] = future, directory
        unclean = {key: cold for key, cold in found.logs.items() if cold.needs_recovery}
        if unclean:
            self._recover(directory, unclean)

    def _recover(self, directory: LogDirectory, found: dict[TopicPartition, ColdLog]) -> None:
        _logger.info("recovering %d logs in %s after an unclean stop", len(found), directory.path)
        with ThreadPoolExecutor(max(1, self._settings.recovery_threads), "recovery") as pool:
            for key, result in zip(found, pool.map(self._opener.try_recover, found.items()), strict=True):
                if isinstance(result, Log):
                    self._adopt(key, result)
                else:
                    self._open_failed(key, found[key], result)

    def _open_failed(self, key: TopicPartition, cold: ColdLog, error: Exception) -> None:
        """A disk that fails takes its directory along; files that make no sense only their own log.

        A log that was closed cleanly and met a shortage of descriptors is opened when it is next needed.
        """
        _logger.error("%s cannot be opened: %s", cold.directory, error)
        if is_shortage(error) and not cold.needs_recovery:
            return
        self.failed[key] = str(error)
        self._table.cold.pop(key, None)
        self._table.failed[key] = cold
        if isinstance(error, OSError) and error.errno is not None:
            cold.root.fail(error)

    def _adopt(self, key: TopicPartition, log: Log) -> Log:
        cold = self._table.cold.pop(key)
        log.maybe_update_high_watermark(cold.high_watermark)
        self._table.opened[key] = log
        return log

    # ---- lookup

    def __contains__(self, key: TopicPartition) -> bool:
        return key in self._table

    def has_files(self, key: TopicPartition) -> bool:
        """Whether there is a log, also one that could not be opened."""
        return key in self._table or key in self._table.failed

    def is_unusable(self, key: TopicPartition) -> bool:
        """Whether there is a log that could not be opened, in a directory that works."""
        failed = self._table.failed.get(key)
        return failed is not None and failed.root.is_online

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def get(self, key: TopicPartition) -> Log | None:
        """The log, opened if need be; None if there is none. Raises `StorageError` if it cannot be opened."""
        log = self._table.opened.get(key)
        return log if log is not None else self._open_cold(key)

    def _open_cold(self, key: TopicPartition) -> Log | None:
        cold = self._table.cold.get(key)
        if cold is None:
            if key in self.failed:
                raise StorageError(f"{key} could not be opened: {self.failed[key]}")
            return None
        if not cold.root.is_online:
            raise StorageError(f"the log directory of {key} is offline")
        try:
            return self.workers.run(cold.root.path, lambda: self._adopt(key, self._opener.open(key, cold)))
        except DirectoryStalled:
            raise
        except (OSError, KafkaError) as error:
            self._open_failed(key, cold, error)
            kind = StorageBusy if is_shortage(error) else StorageError
            raise kind(f"{key} could not be opened: {error}") from error

    def is_known_empty(self, key: TopicPartition) -> bool:
        """Whether a log has no records, without opening it; False if it is not known."""
        log, cold = self._table.opened.get(key), self._table.cold.get(key)
        if log is not None:
            return log.log_start_offset == log.log_end_offset
        return cold is not None and cold.is_empty(self._environment.fs)

    def release_files(self, keep: int) -> int:
        """Close log files that are not in use, but leave `keep` open; returns how many were closed."""
        return self._environment.open_files.make_room(keep)

    def if_open(self, key: TopicPartition) -> Log | None:
        """The log if it is open; it is not opened for this."""
        return self._table.opened.get(key)

    def opened(self) -> list[Log]:
        """The logs that are open: the only ones that can have anything to flush or expire."""
        return list(self._table.opened.values())

    def directory_of(self, key: TopicPartition) -> LogDirectory | None:
        return self._table.roots.get(key)

    def is_offline(self, key: TopicPartition) -> bool:
        """Whether the log is in a directory that has failed, or may be in one: it is not found elsewhere."""
        root = self._table.roots.get(key)
        if root is not None:
            return not root.is_online
        return any(not directory.is_online for directory in self.directories)

    def strays(self, is_known: Callable[[TopicPartition], bool]) -> list[TopicPartition]:
        """Logs of partitions that the metadata does not have here."""
        return [key for key in self if not is_known(key)]

    def path_of(self, key: TopicPartition) -> Path:
        return self._table.roots[key].path / str(key)

    # ---- creation and deletion

    def create(self, key: TopicPartition, topic_id: UUID | None, config: LogConfig | None = None) -> Log:
        """A new log in the directory with the fewest; the existing one if it is there."""
        existing = self.get(key)
        if existing is not None:
            if topic_id is not None:
                existing.assign_topic_id(topic_id)
            return existing
        if key in self._being_created:
            raise StorageBusy(f"the log of {key} is being created")
        directory = self._preferred.pop(key, None)
        if directory is None or not directory.is_online:
            directory = self._least_loaded()
        self._renamed.make_durable(key)
        self.workers.check(directory.path)
        chosen, forgetting = config or self._config_for(key.topic), self.checkpoints.without(directory, key)
        self._being_created.add(key)
        return self.workers.run(
            directory.path, lambda: self._create(key, topic_id, chosen, directory, forgetting)
        )

    def _create(
        self,
        key: TopicPartition,
        topic_id: UUID | None,
        config: LogConfig,
        directory: LogDirectory,
        forgetting: Sequence[CheckpointWrite],
    ) -> Log:
        try:
            log = self._opener.create(key, topic_id, config, directory, forgetting)
        finally:
            self._being_created.discard(key)
        self._table.opened[key] = log
        self._table.roots[key] = directory
        return log

    def prefer(self, key: TopicPartition, directory: LogDirectory) -> None:
        """Create the log of a partition in this directory, once there is one."""
        self._preferred[key] = directory

    def _least_loaded(self) -> LogDirectory:
        online = [directory for directory in self.directories if directory.is_online]
        if not online:
            raise StorageError("all log directories are offline")
        responding = [each for each in online if not self.workers.is_stalled(each.path)]
        return self._table.least_loaded(responding or online)

    def delete(self, key: TopicPartition) -> bool:
        """Remove a log; its files go to the sink for deleted files. False if there is none."""
        self.futures.remove(key)
        log = self._table.opened.pop(key, None)
        unopened = self._table.cold.pop(key, None) or self._table.failed.pop(key, None)
        root = self._table.roots.pop(key, None)
        self.failed.pop(key, None)
        if root is not None:
            root.cleaner_offsets.remove(key)
            self._renamed.note(key, root)
        if log is not None and not log.is_offline:
            log.delete()
        elif unopened is not None and unopened.root.is_online:
            with suppress(DirectoryStalled):  # then it is done when the directory responds again
                self.workers.submit(unopened.root.path, partial(self._delete_unopened, key, unopened))
        return root is not None

    def _delete_unopened(self, key: TopicPartition, unopened: ColdLog) -> None:
        deleted = unopened.root.path / names.deleted_directory(key, self._environment.rng)
        self._renamed.rename(unopened.root, unopened.directory, deleted, f"deleting {key}")
        self._unlink_directory(deleted, self._settings.delete_delay_ms)

    def set_aside_log(self, key: TopicPartition) -> None:
        """Keep the files of a log that must not be used under another name; a log can be created anew."""
        root = self._table.roots.get(key)
        if root is None:
            return
        log = self._table.opened.get(key)
        entry = log or self._table.cold.get(key) or self._table.failed[key]
        stray = root.path / names.stray_directory(key, self._environment.rng)

        def rename() -> None:
            if log is not None:
                log.close(clean=False)
            self._renamed.rename(root, entry.directory, stray, f"setting {key} aside")

        self._renamed.note(key, root)
        try:
            self.workers.run(root.path, rename)
        except DirectoryStalled as stalled:
            if stalled.job is None:
                raise
            # It is done when the directory responds again, before anything else in it.
        root.cleaner_offsets.remove(key)
        self._table.remove(key)
        self.failed.pop(key, None)
        self.set_aside.append(stray)

    def _unlink_directory(self, path: Path, delay_ms: int) -> None:
        self._environment.on_deleted(DeletedFiles(self._environment.fs, (), delay_ms, directory=path))

    # ---- upkeep

    def cold_with_old_segments(self, directory: LogDirectory) -> list[TopicPartition]:
        """Logs that were never opened and have something to delete. Reads files only: for a thread."""
        return self._find_cold(directory, ColdLog.has_old_segments)

    def cold_worth_cleaning(self, directory: LogDirectory) -> list[TopicPartition]:
        """The same for those with something to compact."""
        return self._find_cold(directory, ColdLog.is_worth_cleaning)

    def _find_cold(self, directory: LogDirectory, applies: ColdQuestion) -> list[TopicPartition]:
        now_ms = self._environment.clock.now_ms()
        found = {key: cold for key, cold in list(self._table.cold.items()) if cold.root is directory}
        return find_cold(found, self._environment.fs, self._config_for, now_ms, applies)

    def describe(self) -> list[DirectoryDescription]:
        """Sizes and free space per directory; reads the sizes of the files of unopened logs."""
        fs = self._environment.fs
        return [describe_directory(directory, self._table, fs) for directory in self.directories]

    def _directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        for key, log in self._table.opened.items():
            if self._table.roots[key] is directory:
                log.take_offline()
        for key in self.futures:
            if self._table.future_roots[key] is directory:
                self.futures.remove(key)
        self._on_offline(directory, error)

    # ---- stop

    def clean_shutdown(self, broker_epoch: int = 0) -> None:
        """Close all logs, write the checkpoints, leave the marker in every directory that came through."""
        unclean = {cold.root.path for cold in self._table.failed.values() if cold.needs_recovery}
        fs, threads = self._environment.fs, self._settings.recovery_threads
        unclean |= close_logs([*self.opened(), *self.futures.opened()], self.directories, fs, threads)
        unclean |= self.checkpoints.write_all()
        for directory in self.directories:
            if directory.path in unclean:
                _logger.warning(
                    "A log in %s failed, so it was not stopped cleanly: the next start recovers its logs",
                    directory.path,
                )
            elif directory.is_online:
                try:
                    write_sums(self._environment.fs, directory.path, self._table.index_sums(directory))
                    directory.mark_clean(broker_epoch)
                except OSError as error:
                    directory.fail(error)
        self._release()

    def abandon(self) -> None:
        """Let go of everything as it is, as a crash would: the next start recovers."""
        for log in [*self.opened(), *self.futures.opened()]:
            log.close(clean=False)
        self._release()

    def _release(self) -> None:
        self._table.opened.clear()
        self._table.cold.clear()
        self._table.futures.clear()
        self._table.future_roots.clear()
        for directory in self.directories:
            directory.release()
