"""A clean stop of many logs syncs the file system once, before it leaves the marker."""

import errno
import os
from collections import Counter
from pathlib import Path

from tests.unit.storage.support import NOW, batch, read_records

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import Buffer, FileSystem, StrPath
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
        self.written: list[Path] = []

    def sync_file(self, path: StrPath) -> None:
        self.synced_alone += not self.defers_syncs
        super().sync_file(path)

    def write_bytes(self, path: StrPath, data: Buffer, *, sync: bool = False) -> None:
        self.written.append(Path(path))
        super().write_bytes(path, data, sync=sync)

    def sync_everything(self, path: StrPath) -> None:
        self.synced_at.append((Path(path) / _MARKER).exists())
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))
        super().sync_everything(path)


def _open(*directories: Path, fs: FileSystem) -> Logs:
    settings = LogsSettings(1, "cluster")
    logs = Logs(directories, settings, lambda _: LogConfig(), fs=fs, clock=ManualClock(NOW))
    logs.open_all()
    return logs


def _write(logs: Logs, count: int) -> None:
    for number in range(count):
        logs.create(TopicPartition("t", number), None).append_as_leader(batch(2), 0)


def test_many_logs_are_synced_together_before_the_marker(tmp_path: Path) -> None:
    fs = WatchedFileSystem()
    logs = _open(tmp_path, fs=fs)
    _write(logs, _MANY)
    fs.synced_alone = 0
    logs.clean_shutdown()
    assert fs.synced_at == [False]
    assert fs.synced_alone < _MANY
    reopened = _open(tmp_path, fs=FileSystem())
    assert reopened.directories[0].was_clean
    for number in range(_MANY):
        log = reopened.get(TopicPartition("t", number))
        assert log is not None
        assert len(read_records(log)) == 2


def test_few_logs_are_synced_alone(tmp_path: Path) -> None:
    fs = WatchedFileSystem()
    logs = _open(tmp_path, fs=fs)
    _write(logs, 3)
    logs.clean_shutdown()
    assert fs.synced_at == []
    assert fs.synced_alone >= 3
    assert (tmp_path / _MARKER).exists()


def test_failed_sync_leaves_no_marker(tmp_path: Path) -> None:
    logs = _open(tmp_path, fs=WatchedFileSystem(fails=True))
    _write(logs, _MANY)
    logs.clean_shutdown()
    assert not (tmp_path / _MARKER).exists()


def test_written_log_costs_four_files_and_one_that_was_only_read_none(tmp_path: Path) -> None:
    """Both indexes, the producer snapshot, the leader epochs: the time of a stop goes into creating these."""
    fs = WatchedFileSystem()
    logs = _open(tmp_path, fs=fs)
    _write(logs, _MANY)
    fs.written.clear()
    logs.clean_shutdown()
    files_of = Counter(path.parent.name for path in fs.written if path.parent != tmp_path)
    assert files_of == dict.fromkeys((f"t-{number}" for number in range(_MANY)), 4)

    logs = _open(tmp_path, fs=fs)
    for number in range(_MANY):
        log = logs.get(TopicPartition("t", number))
        assert log is not None
        assert len(read_records(log)) == 2
    fs.written.clear()
    logs.clean_shutdown()
    assert [path for path in fs.written if path.parent != tmp_path] == []


def test_directories_of_one_file_system_are_synced_together(tmp_path: Path) -> None:
    fs = WatchedFileSystem()
    logs = _open(tmp_path / "a", tmp_path / "b", fs=fs)
    _write(logs, _MANY)
    logs.clean_shutdown()
    assert len(fs.synced_at) == 1
    assert (tmp_path / "a" / _MARKER).exists()
    assert (tmp_path / "b" / _MARKER).exists()


def test_failed_sync_leaves_no_marker_in_any_directory_of_the_file_system(tmp_path: Path) -> None:
    logs = _open(tmp_path / "a", tmp_path / "b", fs=WatchedFileSystem(fails=True))
    _write(logs, _MANY)
    logs.clean_shutdown()
    assert not (tmp_path / "a" / _MARKER).exists()
    assert not (tmp_path / "b" / _MARKER).exists()
