"""A shortage of descriptors (EMFILE) is no failed disk: the request fails, or idle files make room for it."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
from tests.unit.storage.support import NOW, batch, marker, read_records

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.descriptors import DescriptorLimits
from barnabas.base.errors import StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition, random_uuid
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.log import Log
from barnabas.storage.logs import Logs, LogsSettings
from barnabas.storage.open_files import OpenFiles

P = ParamSpec("P")
T = TypeVar("T")
TP = TopicPartition("t", 0)


class ShortFileSystem(FileSystem):
    """The operating system's files, of which every one that is opened after the next `left` fails."""

    def __init__(self) -> None:
        self.left: int | None = None

    def _with_room(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super()._with_room(function, *args, **kwargs)


class Host:
    def __init__(self, directory: Path, limit: int = 1 << 20) -> None:
        self.directory: Path = directory
        self.fs: ShortFileSystem = ShortFileSystem()
        self.offline: list[Path] = []
        self.limits: DescriptorLimits = DescriptorLimits(limit)

    def start(self) -> Logs:
        logs = Logs(
            [self.directory],
            LogsSettings(1, "cluster", descriptors=self.limits),
            lambda _: LogConfig(segment_bytes=2000),
            fs=self.fs,
            clock=ManualClock(NOW),
            on_offline=lambda directory, _: self.offline.append(directory.path),
        )
        logs.open_all()
        return logs


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def _life(logs: Logs, host: Host, left: int) -> Iterator[None]:
    """Create, write with rolls, flush; each step runs into a shortage after `left` files."""

    def step(action: Callable[[], T]) -> T:
        host.fs.left = left
        try:
            return action()
        except StorageError:
            host.fs.left = None
            return action()
        finally:
            host.fs.left = None

    topic_id = random_uuid()
    log = step(lambda: logs.create(TP, topic_id))
    for number in range(6):
        step(lambda: log.append_as_leader(batch(1, size=900), 0))
        log.maybe_update_high_watermark(log.log_end_offset)
        if number == 3:
            step(log.flush)
        yield
    step(log.flush)
    logs.checkpoints.write_all()
    yield


@pytest.mark.parametrize("left", range(8))
def test_shortage_at_any_file_takes_no_directory_offline(host: Host, left: int) -> None:
    logs = host.start()
    for _ in _life(logs, host, left):
        assert logs.directories[0].is_online
    log = logs.get(TP)
    assert log is not None
    assert [record.offset for record in read_records(log)] == list(range(6))
    assert log.recovery_point == 6
    logs.clean_shutdown()
    reopened = host.start()
    assert len(read_records(_get(reopened))) == 6
    assert host.offline == []


def test_log_that_met_a_shortage_is_opened_later(host: Host) -> None:
    logs = host.start()
    logs.create(TP, None).append_as_leader(batch(3), 0)
    logs.clean_shutdown()
    logs = host.start()
    host.fs.left = 0
    with pytest.raises(StorageError):
        logs.get(TP)
    host.fs.left = None
    assert len(read_records(_get(logs))) == 3


def test_creation_without_a_descriptor_leaves_nothing_behind(host: Host) -> None:
    logs = host.start()
    for left in range(2):
        host.fs.left = left
        with pytest.raises(StorageError):
            logs.create(TP, random_uuid())
        assert not (host.directory / str(TP)).exists()
    host.fs.left = None
    assert logs.create(TP, random_uuid()).log_end_offset == 0


def test_abort_that_cannot_be_indexed_refuses_its_log_only(host: Host) -> None:
    logs = host.start()
    other = logs.create(TopicPartition("other", 0), None)
    log = logs.create(TP, None)
    log.append_as_leader(batch(1, pid=1, sequence=0, transactional=True), 0)
    host.fs.left = 0
    with pytest.raises(StorageError):
        log.append_as_leader(marker(1, commit=False), 0, origin=AppendOrigin.COORDINATOR)
    host.fs.left = None
    with pytest.raises(StorageError):
        log.read(0, 100, up_to=1)
    other.append_as_leader(batch(1), 0)
    assert host.offline == []


def test_checkpoint_is_written_after_a_shortage(host: Host) -> None:
    logs = host.start()
    log = logs.create(TP, None)
    log.append_as_leader(batch(1), 0)
    log.flush()
    host.fs.left = 0
    logs.checkpoints.write_all()
    host.fs.left = None
    logs.checkpoints.write_all()
    assert "t 0 1" in (host.directory / "recovery-point-offset-checkpoint").read_text()


def test_idle_log_files_are_closed_beyond_the_limit(tmp_path: Path) -> None:
    # Far enough above the descriptors of this process that the log files do not reach the reserve.
    highest = max(map(int, os.listdir("/dev/fd")))
    host = Host(tmp_path, limit=2 * highest + 60)
    logs = host.start()
    count = 2 * host.limits.open_log_files
    opened = [logs.create(TopicPartition("t", number), None) for number in range(count)]
    for _ in range(2):
        for log in opened:
            log.append_as_leader(batch(1), 0)
    assert sum(_is_open(log) for log in opened) <= host.limits.open_log_files
    for log in opened:
        assert len(read_records(log)) == 2
    assert logs.release_files(keep=5) > 0
    while logs.release_files(keep=5):
        pass
    assert sum(_is_open(log) for log in opened) == 5


def test_shortage_closes_idle_files_and_the_operation_succeeds(host: Host) -> None:
    logs = host.start()
    first, second = (logs.create(TopicPartition("t", number), None) for number in range(2))
    first.append_as_leader(batch(1), 0)
    failures = iter([OSError(errno.EMFILE, "none left")])

    def open_once(path: str) -> str:
        error = next(failures, None)
        if error is not None:
            raise error
        return path

    assert host.fs._with_room(open_once, "x") == "x"
    assert not _is_open(first)
    second.append_as_leader(batch(1), 0)


def test_response_does_not_hold_a_descriptor_of_the_reserve(tmp_path: Path) -> None:
    host = Host(tmp_path)
    logs = host.start()
    log = logs.create(TP, None)
    log.append_as_leader(batch(1), 0)
    log._environment.open_files.bound = 0  # every descriptor counts as one of the reserve
    with pytest.raises(StorageError):
        log.read(0, 100, up_to=1)
    log.append_as_leader(batch(1), 0)
    log._environment.open_files.bound = 1 << 20
    assert log.read(0, 100, up_to=1) is not None
    assert host.offline == []


class Holder:
    def __init__(self) -> None:
        self.was_used: bool = False
        self.is_open: bool = True

    def release_file(self) -> None:
        self.is_open = False


def test_file_in_use_is_closed_last() -> None:
    files = OpenFiles(DescriptorLimits(24))
    holders = [Holder() for _ in range(8)]
    for holder in holders:
        files.opened(holder, 3)
    holders[0].was_used = True
    files.opened(Holder(), 3)
    assert [holder.is_open for holder in holders] == [True, False, True, True, True, True, True, True]


def test_descriptor_of_the_reserve_closes_others() -> None:
    files = OpenFiles(DescriptorLimits(1000))
    holders = [Holder() for _ in range(10)]
    for holder in holders:
        files.opened(holder, 3)
    newest = Holder()
    files.opened(newest, 999)
    assert newest.is_open
    assert not any(holder.is_open for holder in holders)


@pytest.mark.parametrize("limit", [32, 64, 256, 1024, 20_000, 1 << 20])
def test_shares_leave_a_reserve(limit: int) -> None:
    limits = DescriptorLimits(limit)
    assert 0 < limits.for_connections < limits.for_log_files < limit
    assert limits.open_log_files < limits.for_log_files


def _get(logs: Logs) -> Log:
    log = logs.get(TP)
    assert log is not None
    return log


def _is_open(log: Log) -> bool:
    return any(segment.is_open for segment in log.segments)
