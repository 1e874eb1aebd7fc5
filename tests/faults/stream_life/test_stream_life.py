"""Lives of streams: targets hold what the model says, each row once, or the error is there that must be.

Fixed seeds, so that every run is the same. `BARNABAS_SOAK_STEPS` says how long the long one is, in steps over
all seeds; a failure prints its seed and a trace that is made as short as possible.
"""

import os
from pathlib import Path

import pytest
from tests.faults.random_life.reported import reported
from tests.faults.random_life.trace import Lived
from tests.faults.stream_life.generator import Mix, generate
from tests.faults.stream_life.life import live, shrink
from tests.faults.stream_life.step import Step
from tests.faults.stream_life.traces import TRACES

pytestmark = pytest.mark.needs("pyspark")
_STEPS_PER_LIFE = 60
_SOAK_STEPS = int(os.environ.get("BARNABAS_SOAK_STEPS", "10000"))


def live_and_report(seed: int, directory: Path) -> Lived[Step]:
    lived = live(generate(seed, _STEPS_PER_LIFE, Mix()), directory)
    return reported(seed, lived, lambda failure: shrink(failure, directory))


@pytest.mark.parametrize("name", TRACES)
def test_trace_is_lived_without_a_violation(name: str, tmp_path: Path) -> None:
    lived = live(TRACES[name], tmp_path)

    assert lived.failure is None, str(lived.failure)


@pytest.mark.parametrize("seed", range(4))
def test_no_row_is_lost_and_none_is_there_twice(seed: int, tmp_path: Path) -> None:
    lived = live_and_report(seed, tmp_path)

    assert lived.counts["produced"] > 10
    assert lived.counts["ran"] > 5


@pytest.mark.soak
def test_ten_thousand_steps(tmp_path: Path) -> None:
    steps = 0
    for seed in range(100, 100 + _SOAK_STEPS // _STEPS_PER_LIFE):
        live_and_report(seed, tmp_path)
        steps += _STEPS_PER_LIFE
    print(f"{steps} steps without a violation")
