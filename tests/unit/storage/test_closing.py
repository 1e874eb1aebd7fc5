"""A clean stop of many logs syncs the file system once, before it leaves the marker."""

import errno
import os
from pathlib import Path

from tests.unit.storage.support import NOW, batch, read_records

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem, StrPath
from barnabas.base.ids import TopicPartition
from barnabas.storage.logs import Logs, LogsSettings

_MARKER = ".kafka_cleanshutdown"
_MANY = 70


class WatchedFileSystem(FileSystem):
    def __init__(self, *, fails: bool = False) -> None:
        self.fails: bool = fails
        self.synced_alone: int = 0
        self.synced_at: list[bool] = []
        """For each sync of everything, whether the marker was there."""

    def sync_file(self, path: StrPath) -> None:
        self.synced_alone += not self.defers_syncs
        super().sync_file(path)

    def sync_everything(self, path: StrPath) -> None:
        self.synced_at.append((Path(path) / _MARKER).exists())
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))
        super().sync_everything(path)


def _open(directory: Path, fs: FileSystem) -> Logs:
    settings = LogsSettings(1, "cluster")
    logs = Logs([directory], settings, lambda _: LogConfig(), fs=fs, clock=ManualClock(NOW))
    logs.open_all()
    return logs


def _write(logs: Logs, count: int) -> None:
    for number in range(count):
        logs.create(TopicPartition("t", number), None).append_as_leader(batch(2), 0)


def test_many_logs_are_synced_together_before_the_marker(tmp_path: Path) -> None:
    fs = WatchedFileSystem()
    logs = _open(tmp_path, fs)
    _write(logs, _MANY)
    fs.synced_alone = 0
    logs.clean_shutdown()
    assert fs.synced_at == [False]
    assert fs.synced_alone < _MANY
    reopened = _open(tmp_path, FileSystem())
    assert reopened.directories[0].was_clean
    for number in range(_MANY):
        log = reopened.get(TopicPartition("t", number))
        assert log is not None
        assert len(read_records(log)) == 2


def test_few_logs_are_synced_alone(tmp_path: Path) -> None:
    fs = WatchedFileSystem()
    logs = _open(tmp_path, fs)
    _write(logs, 3)
    logs.clean_shutdown()
    assert fs.synced_at == []
    assert fs.synced_alone >= 3
    assert (tmp_path / _MARKER).exists()


def test_failed_sync_leaves_no_marker(tmp_path: Path) -> None:
    logs = _open(tmp_path, WatchedFileSystem(fails=True))
    _write(logs, _MANY)
    logs.clean_shutdown()
    assert not (tmp_path / _MARKER).exists()
