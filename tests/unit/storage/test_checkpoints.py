from pathlib import Path

import pytest
from tests.unit.storage.support import GOLDEN

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.checkpoints import CheckpointFile, encode_offsets, read_checkpoint, read_offsets


def test_offsets_are_written_as_kafka_writes_them() -> None:
    offsets = {TopicPartition("plain", 0): 20, TopicPartition("a.b", 3): 0}
    assert encode_offsets(offsets) == b"0\n2\nplain 0 20\na.b 3 0\n"


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"])
def test_kafkas_own_checkpoints_are_read_and_written_back(name: str) -> None:
    path = GOLDEN / "log-dir" / name
    offsets = read_offsets(FileSystem(), path)
    assert offsets[TopicPartition("rolled", 0)] == 3000
    assert encode_offsets(offsets) == path.read_bytes()


def test_a_missing_or_empty_file_has_no_offsets(tmp_path: Path) -> None:
    assert read_offsets(FileSystem(), tmp_path / "x") == {}
    (tmp_path / "x").write_bytes(b"")
    assert read_offsets(FileSystem(), tmp_path / "x") == {}


@pytest.mark.parametrize(
    "text",
    [
        "0\n3\na 0 1\nb 1\nc 2 30\n",
        "0\n3\na 0 1\nb zero 2\nc 2 30\n",
        "0\n3\na 0 1\nb 1 -2\nc 2 30\n",
        "0\n3\na 0 1\n\0\0\0\nc 2 30\n",
        "0\n3\na 0 1\nc 2 30\n",
        "0\n3\na 0 1\nc 2 30\nb 1 2",
        "0\n4\na 0 1\nb 1 2\nb 1 3\nc 2 30\n",
        "7\n2\na 0 1\nc 2 30\n",
        "0\n?\na 0 1\nc 2 30\n",
    ],
)
def test_a_damaged_line_is_left_out_and_the_others_count(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    found = read_checkpoint(FileSystem(), tmp_path / "x")
    assert found.offsets == {TopicPartition("a", 0): 1, TopicPartition("c", 2): 30}
    assert not found.is_intact


def test_a_whole_file_is_intact_and_a_missing_or_empty_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert not read_checkpoint(FileSystem(), path).is_intact
    path.write_bytes(b"")
    assert not read_checkpoint(FileSystem(), path).is_intact
    path.write_bytes(b"0\n0\n")
    assert read_checkpoint(FileSystem(), path).is_intact
    path.write_bytes(b"0\n1\na 0 1\n")
    assert read_checkpoint(FileSystem(), path).is_intact


def test_a_partition_is_mentioned_until_the_file_without_it_is_written(tmp_path: Path) -> None:
    key = TopicPartition("t", 0)
    (tmp_path / "x").write_bytes(encode_offsets({key: 900}))
    file = CheckpointFile(FileSystem(), tmp_path / "x")
    file.read()
    assert file.mentions(key)
    without = file.prepare({})
    assert without is not None
    assert file.mentions(key)
    without.run()
    assert not file.mentions(key)
    assert file.prepare({key: 1}) is not None
    assert file.mentions(key)


def test_an_earlier_content_never_replaces_a_later_one(tmp_path: Path) -> None:
    file = CheckpointFile(FileSystem(), tmp_path / "x")
    early = file.prepare({TopicPartition("t", 0): 100})
    late = file.prepare({TopicPartition("t", 0): 50})
    assert early is not None
    assert late is not None
    late.run()
    early.run()
    assert file.read().offsets == {TopicPartition("t", 0): 50}


def test_an_unchanged_content_is_not_written_again(tmp_path: Path) -> None:
    file = CheckpointFile(FileSystem(), tmp_path / "x")
    assert file.prepare({TopicPartition("t", 0): 1}) is not None
    assert file.prepare({TopicPartition("t", 0): 1}) is None
