"""Random lives of topics: after every start the broker holds what the model says, and nothing else.

Fixed seeds, so that every run is the same. `BARNABAS_SOAK_STEPS` says how long the long one is, in steps over
all seeds; a failure prints its seed and a trace that is made as short as possible.
"""

import os
from pathlib import Path

import pytest
from tests.faults.random_life.reported import reported
from tests.faults.random_life.trace import Lived
from tests.faults.topic_life.generator import Mix, generate
from tests.faults.topic_life.life import live, shrink
from tests.faults.topic_life.mixes import KILLS, POWER_CUTS
from tests.faults.topic_life.step import Step

_STEPS_PER_LIFE = 250
_SOAK_STEPS = int(os.environ.get("BARNABAS_SOAK_STEPS", "10000"))


def live_and_report(seed: int, mix: Mix, directory: Path) -> Lived[Step]:
    lived = live(generate(seed, _STEPS_PER_LIFE, mix), directory, mix.log_dirs)
    return reported(seed, lived, lambda failure: shrink(failure, directory, mix.log_dirs))


@pytest.mark.parametrize("seed", range(4))
def test_nothing_acknowledged_is_lost_by_stops_and_kills(seed: int, tmp_path: Path) -> None:
    lived = live_and_report(seed, KILLS, tmp_path)

    assert lived.counts["produced"] > 20
    assert lived.counts["kill"] > 2


@pytest.mark.parametrize("seed", range(3))
def test_nothing_flushed_is_lost_by_power_cuts(seed: int, tmp_path: Path) -> None:
    lived = live_and_report(seed, POWER_CUTS, tmp_path)

    assert lived.counts["power"] > 2


@pytest.mark.soak
def test_ten_thousand_steps(tmp_path: Path) -> None:
    steps = 0
    for seed in range(100, 100 + _SOAK_STEPS // _STEPS_PER_LIFE):
        live_and_report(seed, (KILLS, POWER_CUTS)[seed % 2], tmp_path)
        steps += _STEPS_PER_LIFE
    print(f"{steps} steps without a violation")
