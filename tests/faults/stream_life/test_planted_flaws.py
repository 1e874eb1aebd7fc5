"""A source and sinks with a planted defect each: random lives of few steps find it, and nothing without."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.random_life.trace import Failure
from tests.faults.stream_life import flaws
from tests.faults.stream_life.generator import Mix, generate
from tests.faults.stream_life.life import live
from tests.faults.stream_life.step import Step

pytestmark = pytest.mark.needs("pyspark")
_LIVES = 6
_STEPS = 40


@dataclass(frozen=True, slots=True)
class Hunt:
    """What kind of life meets the defect soon."""

    flaw: Callable[[pytest.MonkeyPatch], None]
    weights: Mapping[str, int]
    kinds: tuple[str, ...] = ("sink",)
    deaths: tuple[str, ...] = ("written", "task")
    ways: tuple[str, ...] = ("", "", "", "worker")

    @property
    def mix(self) -> Mix:
        return Mix({"produce": 6, "run": 5, **self.weights}, self.kinds, self.deaths, self.ways, poison=0.0)


_HUNTS = (
    Hunt(flaws.batch_older_than_the_decided_one_is_skipped, {"back_up": 1, "restore": 1}),
    Hunt(flaws.names_of_groups_collide, {"kill": 1}, ("app",)),
    Hunt(flaws.targets_of_an_application_share_an_identity, {}, ("pair",)),
    Hunt(flaws.id_of_a_topic_is_ignored, {"recreate": 2}),
    Hunt(flaws.three_answers_without_records_end_a_range, {"withhold": 4}),
    Hunt(flaws.progress_is_not_in_the_transaction, {"kill": 4, "time_out": 2}),
    Hunt(flaws.new_partitions_begin_at_their_end, {"grow": 2}),
    Hunt(flaws.nothing_is_sent_while_rows_are_awaited, {}, ways=("slow",)),
)


def _first_failure(hunt: Hunt, directory: Path) -> Failure[Step] | None:
    for seed in range(_LIVES):
        lived = live(generate(seed, _STEPS, hunt.mix), directory)
        if lived.failure is not None:
            return lived.failure
    return None


@pytest.mark.parametrize("hunt", [pytest.param(hunt, id=hunt.flaw.__name__) for hunt in _HUNTS])
def test_flaw_is_found(hunt: Hunt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hunt.flaw(monkeypatch)

    assert _first_failure(hunt, tmp_path) is not None


@pytest.mark.soak
@pytest.mark.parametrize("hunt", _HUNTS, ids=lambda hunt: hunt.flaw.__name__)
def test_nothing_is_found_without_the_flaw(hunt: Hunt, tmp_path: Path) -> None:
    failure = _first_failure(hunt, tmp_path)

    assert failure is None, str(failure)
