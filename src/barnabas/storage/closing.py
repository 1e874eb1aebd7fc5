"""Closing all logs of a clean stop.

A log that was written to has about ten files and names to sync. For many logs they are written first and then
made durable by one call for each file system; the checkpoints and the clean-shutdown marker are written after
it, so that a crash before finds an unclean stop. Where there is no such call, or for a few logs, each file is
synced.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from barnabas.base.errors import KafkaError, StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory

_logger = logging.getLogger(__name__)

_FEW = 64
"""So many logs are synced one by one: the file system may hold much that is not ours."""
_THREADS = 4


def close_logs(
    logs: Sequence[Log], directories: Sequence[LogDirectory], fs: FileSystem, threads: int
) -> set[Path]:
    """Close the logs durably; returns the directories in which one could not be closed."""
    unclean: set[Path] = set()
    fs.defers_syncs = len(logs) > _FEW and fs.can_sync_everything
    try:
        with ThreadPoolExecutor(max(threads, _THREADS), "closing") as pool:
            for log, error in zip(logs, pool.map(_try_close, logs), strict=True):
                if error is not None:
                    _logger.error("%s was not closed cleanly: %s", log.directory, error)
                    unclean.add(log.directory.parent)
        if fs.defers_syncs:
            unclean |= _sync_everything(directories, fs)
    finally:
        fs.defers_syncs = False
    return unclean


def _sync_everything(directories: Sequence[LogDirectory], fs: FileSystem) -> set[Path]:
    """Directories that share a file system share the call, and its failure."""
    by_device: dict[int, list[LogDirectory]] = {}
    failed = set()
    for directory in directories:
        if directory.is_online:
            try:
                by_device.setdefault(fs.device(directory.path), []).append(directory)
            except OSError as error:
                directory.fail(error)
                failed.add(directory.path)
    for together in by_device.values():
        try:
            fs.sync_everything(together[0].path)
        except OSError as error:
            for directory in together:
                directory.fail(error)
                failed.add(directory.path)
    return failed


def _try_close(log: Log) -> Exception | None:
    if log.is_offline and not log.is_closed:
        return StorageError(f"{log.topic_partition} is offline")
    try:
        log.close(clean=True)
    except (OSError, KafkaError) as error:
        return error
    return None
