"""Logs on their way to another log directory of this broker: `<topic>-<partition>.<hex>-future` (KIP-113).

A future log is filled from the current one (`replication.replica_moves`) and replaces it when it has all of
its records. Crash guarantees: before that the future log counts for nothing, and a start goes on with it. The
records of the future log are durable before the current directory is renamed to `-delete`, and that is
durable before the future directory gets the partition's name: a crash in between leaves the future log alone,
and the next start takes it as the partition's log.

Belongs to the loop's thread.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import UUID

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import KafkaError, StorageError
from barnabas.base.ids import TopicPartition
from barnabas.storage import names
from barnabas.storage.cold_log import ColdLog
from barnabas.storage.deleted_files import DeletedFiles
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.found_logs import FoundLogs
from barnabas.storage.log import Log
from barnabas.storage.log_checkpoints import LogCheckpoints
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_opener import LogOpener
from barnabas.storage.log_table import LogTable

_logger = logging.getLogger(__name__)


class FutureLogs:
    def __init__(
        self,
        table: LogTable,
        opener: LogOpener,
        checkpoints: LogCheckpoints,
        environment: LogEnvironment,
    ) -> None:
        self._table: LogTable = table
        self._opener: LogOpener = opener
        self._checkpoints: LogCheckpoints = checkpoints
        self._environment: LogEnvironment = environment

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(list(self._table.futures))

    def opened(self) -> list[Log]:
        return [each for each in self._table.futures.values() if isinstance(each, Log)]

    def directory_of(self, key: TopicPartition) -> LogDirectory | None:
        return self._table.future_roots.get(key)

    def get(self, key: TopicPartition) -> Log | None:
        """The future log, opened if need be; None if the partition is not moved. Raises StorageError."""
        found = self._table.futures.get(key)
        if not isinstance(found, ColdLog):
            return found
        try:
            log = self._opener.open(key, found)
        except (OSError, KafkaError) as error:
            raise StorageError(f"the future log of {key} could not be opened: {error}") from error
        log.maybe_update_high_watermark(found.high_watermark)
        self._table.futures[key] = log
        return log

    def create(
        self, key: TopicPartition, directory: LogDirectory, topic_id: UUID | None, config: LogConfig
    ) -> Log:
        """A new, empty future log in `directory`."""
        name = names.future_directory(key, self._environment.rng)
        forgetting = self._checkpoints.without(directory, key)
        log = self._opener.create(key, topic_id, config, directory, forgetting, name)
        self._table.futures[key], self._table.future_roots[key] = log, directory
        return log

    def remove(self, key: TopicPartition) -> None:
        """The partition stays where it is, or is deleted: delete its future log, if there is one."""
        found, root = self._table.futures.pop(key, None), self._table.future_roots.pop(key, None)
        if isinstance(found, Log):
            found.close(clean=False)
        if found is not None and root is not None and root.is_online:
            self._unlink(root, found, key)

    def _unlink(self, root: LogDirectory, log: Log | ColdLog, key: TopicPartition) -> None:
        fs = self._environment.fs
        deleted = root.path / names.deleted_directory(key, self._environment.rng)
        try:
            fs.rename(log.directory, deleted)
        except OSError as error:
            root.fail(error)
            return
        self._environment.on_deleted(DeletedFiles(fs, (), 0, directory=deleted))

    def replace_current(self, key: TopicPartition) -> None:
        """The future log has all records of the current one: it replaces it.

        Both logs are closed. The partition opens its log again when it is next used.
        """
        table, fs = self._table, self._environment.fs
        current, future = table.opened[key], table.futures[key]
        source, target = table.roots[key], table.future_roots[key]
        assert isinstance(future, Log)
        assert future.log_end_offset == current.log_end_offset
        future.leader_epochs.take_over(current.leader_epochs)
        future.close(clean=True)
        cold = ColdLog(
            target, str(key), future.recovery_point, future.log_start_offset, current.high_watermark
        )
        deleted = source.path / names.deleted_directory(key, self._environment.rng)
        self._swap(current, future, deleted, target)
        source.cleaner_offsets.remove(key)
        table.remove(key)
        del table.futures[key], table.future_roots[key]
        table.cold[key], table.roots[key] = cold, target
        self._environment.on_deleted(
            DeletedFiles(fs, (), current.config.file_delete_delay_ms, directory=deleted)
        )

    def _swap(self, current: Log, future: Log, deleted: Path, target: LogDirectory) -> None:
        """Rename both directories. If that fails the current log stays."""
        fs, source = self._environment.fs, current.directory
        current.close(clean=False)
        try:
            fs.rename(source, deleted)
            fs.sync_dir(source.parent)
        except OSError as error:
            self._table.roots[current.topic_partition].fail(error)
            raise StorageError(f"moving {current.topic_partition} failed: {error}") from error
        try:
            fs.rename(future.directory, target.path / source.name)
            fs.sync_dir(target.path)
        except OSError as error:
            fs.rename(deleted, source)
            self._reopen(current)
            target.fail(error)
            raise StorageError(f"moving {current.topic_partition} failed: {error}") from error

    def _reopen(self, current: Log) -> None:
        """The current log was closed as a crash leaves it, and stays: it is recovered when it is used."""
        key = current.topic_partition
        root = self._table.roots[key]
        points = current.recovery_point, current.log_start_offset, current.high_watermark
        del self._table.opened[key]
        self._table.cold[key] = ColdLog(root, str(key), *points, needs_recovery=True)


def adopt_futures(
    found: Mapping[LogDirectory, FoundLogs], directories: list[LogDirectory], environment: LogEnvironment
) -> None:
    """At a start: a future log without a current one was about to replace it, and is the partition's log.

    Not while a directory is offline: the current log may be in it.
    """
    known = {key for logs in found.values() for key in logs.logs}
    for directory, logs in found.items():
        for key, future in list(logs.futures.items()):
            if key in known or any(not each.is_online for each in directories):
                continue
            _logger.warning("%s was to replace the log of %s: it does so now", future.directory, key)
            environment.fs.rename(future.directory, directory.path / str(key))
            environment.fs.sync_dir(directory.path)
            future.name = str(key)
            future.needs_recovery = True
            logs.logs[key] = logs.futures.pop(key)
            known.add(key)
