from pathlib import Path

import pytest
from tests.unit.storage.support import GOLDEN

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.checkpoints import CheckpointFile, MalformedCheckpoint, encode_offsets, read_offsets


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


@pytest.mark.parametrize("text", ["1\n0\n", "0\n2\na 0 1\n", "0\n1\na 0\n", "x\n0\n", "0\n1\na zero 1\n"])
def test_a_malformed_checkpoint_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(MalformedCheckpoint):
        read_offsets(FileSystem(), tmp_path / "x")


def test_an_earlier_content_never_replaces_a_later_one(tmp_path: Path) -> None:
    file = CheckpointFile(FileSystem(), tmp_path / "x")
    early = file.prepare({TopicPartition("t", 0): 100})
    late = file.prepare({TopicPartition("t", 0): 50})
    assert early is not None
    assert late is not None
    late.run()
    early.run()
    assert file.read() == {TopicPartition("t", 0): 50}


def test_an_unchanged_content_is_not_written_again(tmp_path: Path) -> None:
    file = CheckpointFile(FileSystem(), tmp_path / "x")
    assert file.prepare({TopicPartition("t", 0): 1}) is not None
    assert file.prepare({TopicPartition("t", 0): 1}) is None
