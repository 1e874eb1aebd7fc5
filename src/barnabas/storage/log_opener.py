"""Opens and creates single logs of a broker: with the topic's configuration, in the directory's environment.

Any thread may call it, but one at a time for a log; `Logs` decides when, and keeps the outcome.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from barnabas.base.config.log_config import LogConfig
from barnabas.base.descriptors import is_shortage
from barnabas.base.errors import KafkaError, StorageBusy, StorageError
from barnabas.base.ids import TopicPartition
from barnabas.storage.checkpoints import CheckpointWrite
from barnabas.storage.cold_log import ColdLog
from barnabas.storage.directory_workers import DirectoryWorkers
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.log import Log
from barnabas.storage.log_checkpoints import LogCheckpoints
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_loader import create_log, open_log


class LogOpener:
    def __init__(
        self,
        environment: LogEnvironment,
        workers: DirectoryWorkers,
        checkpoints: LogCheckpoints,
        config_for: Callable[[str], LogConfig],
    ) -> None:
        self._environment: LogEnvironment = environment
        self._workers: DirectoryWorkers = workers
        self._checkpoints: LogCheckpoints = checkpoints
        self._config_for: Callable[[str], LogConfig] = config_for
        self._environments: dict[Path, LogEnvironment] = {}

    def open(self, key: TopicPartition, cold: ColdLog) -> Log:
        return open_log(
            cold.directory,
            self._config_for(key.topic),
            self._environment_of(cold.root),
            clean=not cold.needs_recovery,
            recovery_point=cold.recovery_point,
            log_start_offset=cold.log_start_offset,
            index_sums=cold.index_sums,
            topic_partition=key,
        )

    def try_recover(self, item: tuple[TopicPartition, ColdLog]) -> Log | Exception:
        """Open a log after an unclean stop; returns what went wrong, if anything did."""
        try:
            log = self.open(*item)
            if log.flush_due:
                # If the topic requires a flush nothing above the recovery point may be seen: here it
                # costs a thread's time, later it would hide records that consumers have read before.
                log.flush()
            return log
        except (OSError, KafkaError) as error:
            return error

    def create(
        self,
        key: TopicPartition,
        topic_id: UUID | None,
        config: LogConfig,
        directory: LogDirectory,
        forgetting: Sequence[CheckpointWrite],
        name: str | None = None,
    ) -> Log:
        """A new log, once the checkpoints of its directory have no entry of an earlier one (`forgetting`).

        `name` is that of its directory, if it is not the partition's.
        """
        try:
            for write in forgetting:
                write.run()
            path = directory.path / (name or str(key))
            return create_log(path, key, topic_id, config, self._environment_of(directory))
        except OSError as error:
            directory.fail(error)
            kind = StorageBusy if is_shortage(error) else StorageError
            raise kind(f"creating the log of {key} failed: {error}") from error

    def _environment_of(self, directory: LogDirectory) -> LogEnvironment:
        environment = self._environments.get(directory.path)
        if environment is None:
            environment = self._environments[directory.path] = replace(
                self._environment,
                worker=self._workers.get(directory.path),
                on_failure=directory.fail,
                on_truncated=lambda: self._checkpoints.write_recovery_points(directory),
                on_cut=directory.cleaner_offsets.cap,
            )
        return environment
