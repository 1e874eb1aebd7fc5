"""The logs that a start finds in a log directory, with what the checkpoints say of each.

An offset that no checkpoint has is derived: the recovery point from the names of the segments, the log start
offset from `leader-epoch-checkpoint`, whose first entry DeleteRecords moves along. A log without an entry in
recovery points that are intact was not here when the directory was stopped (it was restored, moved here or
renamed back), so a clean stop says nothing about it: it is recovered.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from uuid import UUID

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage import names
from barnabas.storage.checkpoints import CheckpointedOffsets, MalformedCheckpoint
from barnabas.storage.cold_log import ColdLog
from barnabas.storage.index_sums import read_sums
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_directory import LogDirectory, LogDirectoryError
from barnabas.storage.partition_metadata import read_topic_id

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class FoundLogs:
    logs: dict[TopicPartition, ColdLog] = field(default_factory=dict)
    futures: dict[TopicPartition, ColdLog] = field(default_factory=dict)
    """Logs that were copied into this directory when the broker stopped."""
    deleted: list[Path] = field(default_factory=list)
    """Directories that wait for deletion."""
    set_aside: list[Path] = field(default_factory=list)
    """Directories marked `-stray`, and all but one of those marked `-future` for a partition."""


def find_logs(directory: LogDirectory, fs: FileSystem) -> FoundLogs:
    """List the directory and read its checkpoints; raises OSError."""
    recovery_points = directory.recovery_points.read()
    log_starts = directory.log_start_offsets.read()
    high_watermarks = directory.high_watermarks.read().offsets
    directory.cleaner_offsets.load()
    index_sums = read_sums(fs, directory.path)
    found = FoundLogs()
    for partition in directory.partitions():
        path, key = directory.path / partition.name, partition.topic_partition
        is_future = partition.mark == "future" and key not in found.futures
        if partition.mark and not is_future:
            (found.deleted if partition.mark == "delete" else found.set_aside).append(path)
            continue
        log = ColdLog(directory, partition.name, 0, 0, 0)
        was_here = key in recovery_points.offsets or not recovery_points.is_intact
        log.needs_recovery = not (directory.was_clean and was_here)
        if directory.was_clean and not was_here:
            _logger.warning(
                "Recovering the log %s: it was not in the log directory at the last clean stop", path
            )
        log.recovery_point = _recovery_point(log, key, recovery_points, fs)
        log.log_start_offset = _log_start(path, key, log_starts, fs, was_here=was_here)
        log.index_sums = index_sums.get(key)
        log.high_watermark = high_watermarks.get(key, log.recovery_point)
        (found.futures if is_future else found.logs)[key] = log
    return found


def set_aside_duplicates(
    found: Mapping[LogDirectory, FoundLogs],
    topic_id_of: Callable[[str], UUID | None],
    fs: FileSystem,
    rng: Random,
) -> None:
    """Rename directories of a deleted topic that came back with their disk after the topic was created anew.

    Of two logs of one partition the one with the topic's id counts. Raises LogDirectoryError if that does not
    decide it.
    """
    by_key: dict[TopicPartition, list[ColdLog]] = {}
    for logs in found.values():
        for key, log in logs.logs.items():
            by_key.setdefault(key, []).append(log)
    for key, duplicates in by_key.items():
        if len(duplicates) < 2:
            continue
        topic_id = topic_id_of(key.topic)
        ours = [log for log in duplicates if topic_id is not None and _topic_id(log, fs) == topic_id]
        if len(ours) != 1:
            paths = " and in ".join(str(log.root.path) for log in duplicates)
            raise LogDirectoryError(f"{key} is both in {paths}: move the one away that does not count")
        for log in duplicates:
            if log is not ours[0]:
                stray = log.root.path / names.stray_directory(key, rng)
                _logger.warning(
                    "%s belongs to a deleted topic of the same name: renaming it to -stray", log.directory
                )
                fs.rename(log.directory, stray)
                del found[log.root].logs[key]
                found[log.root].set_aside.append(stray)


def _topic_id(log: ColdLog, fs: FileSystem) -> UUID | None:
    try:
        return read_topic_id(fs, log.directory)
    except OSError:
        return None


def _recovery_point(log: ColdLog, key: TopicPartition, points: CheckpointedOffsets, fs: FileSystem) -> int:
    known = points.offsets.get(key)
    if known is not None:
        return known
    if log.needs_recovery:
        return 0
    # A clean stop synced everything: any offset of the log will do.
    bases = [names.offset_of(name) for name in fs.listdir(log.directory) if name.endswith(names.LOG)]
    return max((base for base in bases if base is not None), default=0)


def _log_start(
    path: Path, key: TopicPartition, starts: CheckpointedOffsets, fs: FileSystem, *, was_here: bool
) -> int:
    known = starts.offsets.get(key)
    if known is not None:
        return known
    if starts.is_intact and was_here:
        return 0  # the log starts with its first segment
    epochs = LeaderEpochs(path, fs)
    try:
        epochs.load()
    except MalformedCheckpoint:
        return 0
    earliest = epochs.earliest
    if earliest is not None and earliest.start_offset > 0:
        _logger.info(
            "%s has no checkpointed log start offset: using %d from its leader epochs",
            path,
            earliest.start_offset,
        )
    return 0 if earliest is None else earliest.start_offset
