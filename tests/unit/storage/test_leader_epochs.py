from pathlib import Path

import pytest

from barnabas.base.filesystem import FileSystem
from barnabas.storage.checkpoints import MalformedCheckpoint
from barnabas.storage.leader_epochs import LeaderEpochs


@pytest.fixture
def epochs(tmp_path: Path) -> LeaderEpochs:
    epochs = LeaderEpochs(tmp_path, FileSystem())
    for entry in ((1, 0), (3, 10), (4, 25)):
        epochs.assign(*entry)
    return epochs


def test_the_file_has_kafkas_text(epochs: LeaderEpochs, tmp_path: Path) -> None:
    epochs.write()
    assert (tmp_path / "leader-epoch-checkpoint").read_bytes() == b"0\n3\n1 0\n3 10\n4 25\n"
    again = LeaderEpochs(tmp_path, FileSystem())
    again.load()
    assert again.entries == epochs.entries
    assert not again.is_dirty


def test_the_same_epoch_again_is_no_news(epochs: LeaderEpochs) -> None:
    assert not epochs.assign(4, 30)
    assert epochs.latest_epoch == 4


def test_a_new_entry_removes_those_that_contradict_it(epochs: LeaderEpochs) -> None:
    assert epochs.assign(5, 10)
    assert epochs.entries == [(1, 0), (5, 10)]


def test_an_older_epoch_replaces_newer_ones(epochs: LeaderEpochs) -> None:
    assert epochs.assign(2, 5)
    assert epochs.entries == [(1, 0), (2, 5)]


@pytest.mark.parametrize(
    ("requested", "answer"),
    [(-1, None), (0, (0, 0)), (1, (1, 10)), (2, (1, 10)), (3, (3, 25)), (4, (4, 40)), (5, None)],
)
def test_end_offset_for_an_epoch(
    epochs: LeaderEpochs, requested: int, answer: tuple[int, int] | None
) -> None:
    assert epochs.end_offset_for(requested, 40) == answer


def test_truncation_at_the_end_and_at_the_start(epochs: LeaderEpochs) -> None:
    epochs.truncate_from_end(25)
    assert epochs.entries == [(1, 0), (3, 10)]
    epochs.truncate_from_start(12)
    assert epochs.entries == [(3, 12)]
    epochs.is_dirty = False
    epochs.truncate_from_start(12)
    assert not epochs.is_dirty


def test_the_epoch_of_an_offset(epochs: LeaderEpochs) -> None:
    assert [epochs.epoch_for_offset(offset) for offset in (0, 9, 10, 24, 25, 99)] == [1, 1, 3, 3, 4, 4]


def test_a_malformed_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n1\nnonsense\n")
    with pytest.raises(MalformedCheckpoint, match="nonsense"):
        LeaderEpochs(tmp_path, FileSystem()).load()
