"""Brokers with a planted defect each: random lives of few steps find it, and without it they find nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.random_life.trace import Failure
from tests.faults.topic_life import flaws
from tests.faults.topic_life.generator import Mix, generate
from tests.faults.topic_life.life import live
from tests.faults.topic_life.step import Step

_LIVES = 12
_STEPS = 150


@dataclass(frozen=True, slots=True)
class Hunt:
    """What kind of life meets the defect soon."""

    flaw: Callable[[pytest.MonkeyPatch], None]
    weights: Mapping[str, int]
    endings: Mapping[str, int]
    damages: tuple[str, ...] = ()
    arrangements: tuple[str, ...] = ()
    stamps: tuple[str, ...] = ("now",)
    topics: tuple[str, ...] = ("a", "b")

    @property
    def mix(self) -> Mix:
        return Mix(
            weights={"create": 3, "produce": 6, "restart": 3, **self.weights},
            endings=self.endings,
            topics=self.topics,
            stamps=self.stamps,
            damages=self.damages,
            damaged=0.8,
            arrangements=self.arrangements,
        )


_COORDINATORS = {"commit_offset": 4, "produce_in_transaction": 4, "end_transaction": 3}
_ANY = {"clean": 1, "kill": 1}
_HUNTS = (
    Hunt(
        flaws.log_inherits_the_log_start_of_a_deleted_one,
        {"create": 8, "delete": 3, "delete_records": 6, "checkpoint": 4, "produce": 5, "restart": 3},
        {"kill": 1},
        topics=("a",),
    ),
    Hunt(
        flaws.log_without_a_checkpoint_entry_counts_as_empty,
        _COORDINATORS,
        {"clean": 1},
        ("delete:recovery-point-offset-checkpoint", "empty:recovery-point-offset-checkpoint"),
    ),
    Hunt(flaws.directory_with_an_unrecovered_log_is_marked_clean, {}, _ANY, ("tear+stray",)),
    Hunt(flaws.preallocated_space_is_left_in_the_files, {"configure": 6}, {"clean": 1}),
    Hunt(
        flaws.missing_directories_and_stores_are_made_anew,
        {},
        {"clean": 1},
        arrangements=("front", "missing"),
    ),
    Hunt(
        flaws.log_that_cannot_be_opened_outlives_its_topic,
        {"delete": 4},
        _ANY,
        ("stray", "garbage:partition.metadata+stray", "empty:partition.metadata"),
    ),
    Hunt(
        flaws.indexes_of_aborted_transactions_are_believed,
        _COORDINATORS,
        {"clean": 1},
        ("delete:.txnindex", "empty:.txnindex", "cut:.txnindex", "flip:.txnindex"),
    ),
    Hunt(
        flaws.damaged_line_of_a_checkpoint_stops_the_start,
        {},
        {"clean": 1},
        ("garbage:recovery-point-offset-checkpoint", "spoil:replication-offset-checkpoint"),
    ),
    Hunt(
        flaws.timestamps_of_headers_are_believed,
        {"retain": 2},
        {"clean": 1},
        stamps=("none with maximum 0", "maximum 0"),
    ),
)


def _first_failure(hunt: Hunt, directory: Path) -> Failure[Step] | None:
    for seed in range(_LIVES):
        lived = live(generate(seed, _STEPS, hunt.mix), directory)
        if lived.failure is not None:
            return lived.failure
    return None


@pytest.mark.parametrize("hunt", _HUNTS, ids=lambda hunt: hunt.flaw.__name__)
def test_flaw_is_found(hunt: Hunt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hunt.flaw(monkeypatch)

    assert _first_failure(hunt, tmp_path) is not None


@pytest.mark.soak
@pytest.mark.parametrize("hunt", _HUNTS, ids=lambda hunt: hunt.flaw.__name__)
def test_nothing_is_found_without_the_flaw(hunt: Hunt, tmp_path: Path) -> None:
    failure = _first_failure(hunt, tmp_path)

    assert failure is None, str(failure)
