from pathlib import Path

import pytest
from benchmarks.batches import batch, record, varint
from benchmarks.dirty_log import DirtyLog
from benchmarks.raw_client import Connection


@pytest.fixture
def log(tmp_path: Path) -> DirtyLog:
    (tmp_path / "t-0").mkdir()
    return DirtyLog(tmp_path, "t", Connection.__new__(Connection))


def test_segments_are_those_that_are_not_being_replaced_or_deleted(log: DirtyLog) -> None:
    for name, size in (
        ("00000000000000000000.log", 10),
        ("00000000000000000500.log", 20),
        ("00000000000000000000.log.cleaned", 5),
        ("00000000000000000400.log.deleted", 7),
        ("00000000000000000500.index", 9),
    ):
        (log.log_dir / "t-0" / name).write_bytes(bytes(size))
    assert log.segments() == {0: 10, 500: 20}


def test_cleaned_when_the_checkpoint_has_reached_the_active_segment(log: DirtyLog) -> None:
    assert not log.is_cleaned(500)
    checkpoint = log.log_dir / "cleaner-offset-checkpoint"
    checkpoint.write_text("0\n2\nt 0 499\ntt 0 900\n")
    assert not log.is_cleaned(500)
    checkpoint.write_text("0\n2\nt 0 500\ntt 0 900\n")
    assert log.is_cleaned(500)


def test_a_record_has_the_key_it_was_given() -> None:
    keyed = record(0, b"value", b"key")
    assert keyed == varint(len(keyed) - 1) + b"\x00\x00\x00\x06key\x0avalue\x00"
    assert batch([b"v"], 0, [b"key"]).endswith(b"\x06key\x02v\x00")
