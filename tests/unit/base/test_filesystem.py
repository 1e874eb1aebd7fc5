import gc
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from barnabas.base.filesystem import Buffer, FileSystem, LogFile


@pytest.fixture
def fs() -> FileSystem:
    return FileSystem()


@pytest.fixture
def file(fs: FileSystem, tmp_path: Path) -> LogFile:
    return fs.open(tmp_path / "file", create=True)


def test_buffers_are_written_at_a_position_and_read_back(file: LogFile) -> None:
    assert file.write_at(3, [b"abc", memoryview(b"defg")[1:], bytearray(b"h")]) == 7
    assert file.read_at(0, 100) == b"\x00\x00\x00abcefgh"
    assert file.read_at(4, 2) == b"bc"
    assert file.size() == 10


def test_a_short_write_is_finished(file: LogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    pwritev, pwrite = os.pwritev, os.pwrite

    def short_pwritev(fd: int, buffers: Sequence[Buffer], offset: int) -> int:
        return pwritev(fd, [b"".join(buffers)[:4]], offset)

    def short_pwrite(fd: int, data: Buffer, offset: int) -> int:
        return pwrite(fd, memoryview(data)[:1], offset)

    monkeypatch.setattr(os, "pwritev", short_pwritev)
    monkeypatch.setattr(os, "pwrite", short_pwrite)
    assert file.write_at(0, [b"abc", b"", b"defg", b"hi"]) == 9
    assert file.read_at(0, 100) == b"abcdefghi"


def test_a_write_that_makes_no_progress_fails(file: LogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwritev", lambda *_: 0)
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)
    with pytest.raises(OSError, match="wrote nothing"):
        file.write_at(0, [b"abc"])


def test_more_buffers_than_the_kernel_takes_are_written(file: LogFile) -> None:
    parts = [bytes([number % 256]) for number in range(3000)]
    file.write_at(0, parts)
    assert file.read_at(0, 5000) == b"".join(parts)


def test_a_file_closes_when_its_last_owner_lets_go(fs: FileSystem, tmp_path: Path) -> None:
    file = fs.open(tmp_path / "x", create=True)
    fd = file.fd
    other = [file]
    del file
    os.fstat(fd)
    other.clear()
    gc.collect()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


def test_closing_twice_closes_once(file: LogFile) -> None:
    file.close()
    file.close()
    assert file.fd == -1


def test_a_missing_file_is_not_created_by_the_way(fs: FileSystem, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fs.open(tmp_path / "missing")


def test_an_atomic_write_replaces_the_whole_file(fs: FileSystem, tmp_path: Path) -> None:
    path = tmp_path / "x"
    fs.write_atomically(path, b"long content")
    fs.write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert fs.listdir(tmp_path) == ["x"]


def test_a_lock_keeps_others_out_even_within_the_process(fs: FileSystem, tmp_path: Path) -> None:
    lock = fs.lock(tmp_path / ".lock")
    assert lock is not None
    assert fs.lock(tmp_path / ".lock") is None
    lock.release()
    assert fs.lock(tmp_path / ".lock") is not None


def test_directories_are_listed_and_removed(fs: FileSystem, tmp_path: Path) -> None:
    fs.makedirs(tmp_path / "a" / "b")
    fs.mkdir(tmp_path / "c")
    (tmp_path / "f").write_bytes(b"")
    (tmp_path / "a" / "b" / "g").write_bytes(b"")
    assert sorted(fs.list_directories(tmp_path)) == ["a", "c"]
    fs.rmtree(tmp_path / "a")
    fs.rmtree(tmp_path / "a")
    assert fs.list_directories(tmp_path) == ["c"]


def test_unlinking_a_missing_file_is_no_error_by_default(fs: FileSystem, tmp_path: Path) -> None:
    fs.unlink(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        fs.unlink(tmp_path / "missing", missing_ok=False)


def test_disk_usage_and_file_facts(fs: FileSystem, tmp_path: Path) -> None:
    fs.write_bytes(tmp_path / "x", b"12345", sync=True)
    fs.sync_dir(tmp_path)
    os.utime(tmp_path / "x", ns=(0, 1_234_000_000))
    assert (fs.size(tmp_path / "x"), fs.modified_ms(tmp_path / "x"), fs.exists(tmp_path / "x")) == (
        5,
        1234,
        True,
    )
    usage = fs.disk_usage(tmp_path)
    assert usage.total_bytes >= usage.usable_bytes > 0
