import binascii
import os
from pathlib import Path
from struct import pack

import pytest

from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.batches import OldBatch
from barnabas.cli.dump.segment_file import SegmentFile
from barnabas.records.builder import build_batch
from barnabas.records.compression import GZIP, compress
from barnabas.records.record import Record


def _batch(offset: int, value: bytes = b"v") -> bytes:
    return build_batch([Record(offset, 1000 + offset, b"k", value)], base_offset=offset)


def _old(offset: int, magic: int, value: bytes, *, codec: int = 0) -> bytes:
    body = bytes([magic, codec]) + (pack(">q", 5000 + offset) if magic else b"")
    body += pack(">i", -1) + pack(">i", len(value)) + value
    message = pack(">I", binascii.crc32(body)) + body
    return pack(">qi", offset, len(message)) + message


def _write(path: Path, *parts: bytes) -> str:
    path.write_bytes(b"".join(parts))
    return str(path)


def test_batches_are_found_whatever_the_size_of_a_piece(tmp_path: Path) -> None:
    path = _write(tmp_path / "0.log", *(_batch(number, b"x" * number * 10) for number in range(50)))
    for piece in (61, 62, 100, 1000, 1 << 20):
        with SegmentFile(path) as file:
            batches = list(file.batches(piece=piece))
        assert [batch.last_offset for batch in batches] == list(range(50))
        assert all(batch.is_valid for batch in batches)


def test_a_cut_batch_ends_the_walk(tmp_path: Path) -> None:
    path = _write(tmp_path / "0.log", _batch(0), _batch(1)[:-1])
    with SegmentFile(path) as file:
        assert [batch.last_offset for batch in file.batches()] == [0]


def test_a_file_that_becomes_shorter_ends_earlier(tmp_path: Path) -> None:
    path = _write(tmp_path / "0.log", _batch(0), _batch(1))
    with SegmentFile(path) as file:
        os.truncate(path, len(_batch(0)) + 5)
        assert [batch.last_offset for batch in file.batches(piece=61)] == [0]


def test_an_impossible_length_is_unreadable(tmp_path: Path) -> None:
    path = _write(tmp_path / "0.log", _batch(0), bytes(50))
    with SegmentFile(path) as file, pytest.raises(Unreadable, match=r"record size 0 smaller"):
        list(file.batches())


def test_a_batch_shorter_than_its_header_is_invalid(tmp_path: Path) -> None:
    short = pack(">qiib", 0, 20, 0, 2) + bytes(15)
    with SegmentFile(_write(tmp_path / "0.log", short, _batch(1))) as file:
        first, second = file.batches()
    assert (first.is_valid, second.is_valid) == (False, True)
    with SegmentFile(_write(tmp_path / "0.log", short)) as file, pytest.raises(Unreadable, match="header"):
        list(file.batches())


def test_old_messages_have_their_own_checksums_and_offsets(tmp_path: Path) -> None:
    inner = b"".join(_old(number, 1, b"v%d" % number) for number in range(3))
    wrapper = _old(9, 1, compress(GZIP, inner), codec=GZIP)
    with SegmentFile(_write(tmp_path / "0.log", _old(3, 0, b"zero"), wrapper)) as file:
        first, second = file.batches()
    assert isinstance(first, OldBatch)
    assert (first.timestamp_type, first.max_timestamp, first.is_valid) == ("NoTimestampType", -1, True)
    assert first.records() == [Record(3, -1, None, b"zero")]
    assert [(record.offset, record.timestamp, record.value) for record in second.records()] == [
        (7, 5000, b"v0"), (8, 5001, b"v1"), (9, 5002, b"v2"),
    ]  # fmt: skip


@pytest.mark.parametrize("packed", [b"", b"not gzip", compress(GZIP, b"short")])
def test_a_damaged_wrapper_is_unreadable(packed: bytes, tmp_path: Path) -> None:
    with SegmentFile(_write(tmp_path / "0.log", _old(9, 1, packed, codec=GZIP))) as file:
        (batch,) = file.batches()
    with pytest.raises(Unreadable):
        batch.records()


def test_the_batch_at_a_position_must_fit(tmp_path: Path) -> None:
    path = _write(tmp_path / "0.log", _batch(4), _old(5, 1, b"v"))
    with SegmentFile(path) as file:
        assert file.last_offset_at(0, 1000) == 4
        assert file.last_offset_at(len(_batch(4)), 1000) == 5
        for position, limit in ((0, 10), (-1, 10), (10_000, 10), (len(_batch(4)) + 5, 1000)):
            with pytest.raises(Unreadable):
                file.last_offset_at(position, limit)
