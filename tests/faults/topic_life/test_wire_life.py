"""Random lives of topics over sockets: `barnabas serve` in a process that is killed, and confluent-kafka.

The model is that of the lives in this process. `BARNABAS_SOAK_STEPS` says how long the long one is, in steps
over all seeds; a failure prints its seed and its steps.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.random_life.trace import Lived
from tests.faults.topic_life.generator import Mix, generate
from tests.faults.topic_life.mixes import ON_THE_WIRE
from tests.faults.topic_life.step import Step

pytestmark = pytest.mark.needs("confluent_kafka")

_STEPS_PER_LIFE = 100
_SOAK_STEPS = int(os.environ.get("BARNABAS_SOAK_STEPS", "1000"))
_RECREATED = (
    Step("create", "a", amount=1, extras=("flush.messages",)),
    Step("produce", "a", amount=12, option="none/now"),
    Step("produce", "a", amount=12, option="none/now"),
    Step("delete_records", "a", amount=90),
    Step("restart", option="clean"),
    Step("delete", "a"),
    Step("create", "a", amount=1, extras=("flush.messages",)),
    Step("produce", "a", amount=5, option="none/now"),
    Step("restart", option="kill"),
)
"""A checkpoint entry of the deleted topic would hide the records of the new one."""


def live_and_report(seed: int, steps: int, mix: Mix, directory: Path) -> Lived[Step]:
    from tests.faults.topic_life.wire_life import live_on_wire

    directory.mkdir(exist_ok=True)
    lived = live_on_wire(generate(seed, steps, mix), directory)
    if lived.failure is not None:
        pytest.fail(f"seed {seed}: {lived.failure}", pytrace=False)
    return lived


def test_nothing_acknowledged_is_lost_by_a_process_that_is_killed(tmp_path: Path) -> None:
    lived = live_and_report(5, 30, ON_THE_WIRE, tmp_path)

    assert lived.counts["produced"] > 4
    assert lived.counts["kill"] + lived.counts["produced through a kill"] > 3
    assert lived.counts["deleted"] > 1


@pytest.mark.parametrize("flaw", ["log_inherits_the_log_start_of_a_deleted_one"])
def test_planted_flaw_is_found(flaw: str, tmp_path: Path) -> None:
    from tests.faults.topic_life.wire_life import live_on_wire

    lived = live_on_wire(_RECREATED, tmp_path, ("tests.faults.topic_life.flawed_serve", flaw))

    assert lived.failure is not None
    assert lived.failure.steps == _RECREATED, str(lived.failure)


@pytest.mark.soak
def test_many_steps(tmp_path: Path) -> None:
    mix = replace(ON_THE_WIRE, arrangements=("front", "swap", "missing"))
    steps = 0
    for seed in range(100, 100 + max(1, _SOAK_STEPS // _STEPS_PER_LIFE)):
        live_and_report(seed, _STEPS_PER_LIFE, mix, tmp_path / str(seed))
        steps += _STEPS_PER_LIFE
    print(f"{steps} steps on the wire without a violation")
