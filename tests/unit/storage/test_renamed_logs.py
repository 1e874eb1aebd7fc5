"""Logs that are set aside or deleted in a directory that hangs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from tests.fakes.blocking_filesystem import BlockingFileSystem, be_patient, hanging_directory
from tests.patience import PATIENCE
from tests.unit.storage.support import batch

from barnabas.base.config.log_config import LogConfig
from barnabas.base.ids import TopicPartition
from barnabas.storage.directory_worker import DirectoryStalled
from barnabas.storage.logs import Logs, LogsSettings

KEY = TopicPartition("t", 0)


class Host:
    """Logs in two directories that pose as two disks, and the loop that their workers report to."""

    def __init__(self, directory: Path) -> None:
        self.first: Path = directory / "a"
        self.second: Path = directory / "b"
        self.fs: BlockingFileSystem = BlockingFileSystem()
        self.fs.devices = {self.first: 1, self.second: 2}
        paths = [self.first, self.second]
        self.logs: Logs = Logs(paths, LogsSettings(1, "cluster"), lambda _: LogConfig(), fs=self.fs)
        self.logs.open_all()
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.logs.workers.start(self._calls.put)
        be_patient(self.logs.workers, self.first, self.second)

    def hanging(self) -> AbstractContextManager[None]:
        """The first directory hangs."""
        return hanging_directory(self.fs, self.logs.workers, self.first)

    def settle(self) -> None:
        """Run what the workers report until the first directory responds again."""
        while self.logs.workers.is_stalled(self.first):
            try:
                self._calls.get(timeout=PATIENCE)()
            except Empty:
                raise AssertionError("the directory does not respond") from None


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.logs.workers.stop()
    host.logs.abandon()


def test_log_is_set_aside_by_the_thread_of_its_directory(host: Host) -> None:
    host.logs.create(KEY, None).append_as_leader(batch(1), 0)
    with host.hanging():
        host.logs.set_aside_log(KEY)
        assert host.fs.blocked != [threading.current_thread().name]
        assert KEY not in host.logs
        assert (host.first / str(KEY)).exists()
    host.settle()
    assert not (host.first / str(KEY)).exists()
    assert host.logs.set_aside[0].exists()
    assert host.logs.create(KEY, None).log_end_offset == 0


def test_log_of_the_same_name_is_not_created_before_the_rename_is_synced(host: Host) -> None:
    host.logs.create(KEY, None)
    with host.hanging():
        host.logs.delete(KEY)
        with pytest.raises(DirectoryStalled):
            host.logs.create(KEY, None)
        assert not host.logs.workers.is_stalled(host.second)
    host.settle()
    host.logs.create(KEY, None)


def test_refused_creation_can_be_repeated(host: Host) -> None:
    other = TopicPartition("u", 0)
    host.logs.create(TopicPartition("b", 0), None)
    host.logs.directories[1].fail(OSError("disk removed"))
    with host.hanging():
        host.logs.delete(TopicPartition("b", 0))
        with pytest.raises(DirectoryStalled):
            host.logs.create(other, None)
    host.settle()
    assert host.logs.create(other, None).log_end_offset == 0
