"""One entry of `log.dirs`: its owner, its content, and whether its disk works.

Holds the lock that keeps other brokers out (`.lock`), `meta.properties`, the checkpoints and the
clean-shutdown marker. An `OSError` under any of its logs takes the directory offline, once and for all; the
broker continues with the others. A shortage of descriptors is no failure of the disk and changes nothing.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from random import Random
from uuid import UUID

from barnabas.base.clock import Clock
from barnabas.base.descriptors import is_shortage
from barnabas.base.filesystem import DirectoryLock, DiskUsage, FileSystem
from barnabas.base.ids import encode_uuid, random_uuid
from barnabas.storage import names
from barnabas.storage.checkpoints import HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS, CheckpointFile
from barnabas.storage.clean_shutdown import take_marker, write_marker
from barnabas.storage.cleaning.cleaner_offsets import CleanerOffsets
from barnabas.storage.meta_properties import read_meta_properties, write_meta_properties
from barnabas.storage.names import PartitionDirectory

_logger = logging.getLogger(__name__)


class LogDirectoryError(Exception):
    """A directory that this broker must not use: another one's, or locked."""


class LogDirectory:
    def __init__(self, path: Path, fs: FileSystem, clock: Clock, rng: Random) -> None:
        self.path: Path = path
        self.directory_id: UUID | None = None
        self.cluster_id: str | None = None
        self.was_clean: bool = False
        self.clean_epoch: int = 0
        """The broker epoch at the last clean stop. 0 if the stop was unclean, or the epoch is not known."""
        self.error: OSError | None = None
        self.on_offline: Callable[[LogDirectory, OSError], None] | None = None
        self.recovery_points: CheckpointFile = CheckpointFile(fs, path / RECOVERY_POINTS)
        self.log_start_offsets: CheckpointFile = CheckpointFile(fs, path / LOG_START_OFFSETS)
        self.high_watermarks: CheckpointFile = CheckpointFile(fs, path / HIGH_WATERMARKS)
        self.cleaner_offsets: CleanerOffsets = CleanerOffsets(fs, path)
        self._fs: FileSystem = fs
        self._clock: Clock = clock
        self._rng: Random = rng
        self._lock: DirectoryLock | None = None

    @property
    def is_online(self) -> bool:
        return self.error is None

    def fail(self, error: OSError) -> None:
        """Take the directory offline; the first error is the one that is reported."""
        if is_shortage(error):
            _logger.warning(
                "no file descriptor is left for %s, it stays online: raise `ulimit -n` (%s)", self.path, error
            )
        elif self.error is None:
            self.error = error
            _logger.error("the log directory %s goes offline: %s", self.path, error)
            if self.on_offline is not None:
                self.on_offline(self, error)

    def claim(self, node_id: int, cluster_id: str | None) -> None:
        """Create, lock and identify the directory. `cluster_id` None: take the one it has, or make one."""
        self._fs.makedirs(self.path)
        self._lock = self._fs.lock(self.path / ".lock")
        if self._lock is None:
            raise LogDirectoryError(f"{self.path} is in use by another broker (it holds {self.path}/.lock)")
        known = read_meta_properties(self._fs, self.path)
        if known is not None:
            if known.node_id is not None and known.node_id != node_id:
                raise LogDirectoryError(f"{self.path} belongs to broker {known.node_id}, not to {node_id}")
            if known.cluster_id is not None and cluster_id is not None and known.cluster_id != cluster_id:
                raise LogDirectoryError(
                    f"{self.path} belongs to cluster {known.cluster_id}, not to {cluster_id}"
                )
            self.directory_id = known.directory_id
            cluster_id = known.cluster_id or cluster_id
        self.cluster_id = cluster_id or encode_uuid(random_uuid(self._rng))
        if known is None or None in (known.node_id, known.cluster_id, known.directory_id):
            self.directory_id = self.directory_id or random_uuid(self._rng)
            write_meta_properties(
                self._fs,
                self.path,
                node_id=node_id,
                cluster_id=self.cluster_id,
                directory_id=self.directory_id,
                now_ms=self._clock.now_ms(),
            )
        epoch = take_marker(self._fs, self.path)
        self.was_clean = epoch is not None
        self.clean_epoch = epoch or 0

    def partitions(self) -> list[PartitionDirectory]:
        """Every partition's directory in here, also those that wait for deletion."""
        found = map(names.parse_directory, self._fs.list_directories(self.path))
        return [directory for directory in found if directory is not None]

    def disk_usage(self) -> DiskUsage:
        return self._fs.disk_usage(self.path)

    def mark_clean(self, broker_epoch: int) -> None:
        write_marker(self._fs, self.path, broker_epoch)

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
