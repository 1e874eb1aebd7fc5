"""Simulations as a whole: one plan has one trace, in this process and in another, and flaws are found.

The seeds of the test command are in `test_seeds_of_*`. `BARNABAS_SOAK_SEEDS` says how many seeds the
long test runs.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.simulation.faults import Fault, generate
from tests.simulation.plans import PLANS, Plan
from tests.simulation.seeds import run_and_report
from tests.simulation.world import run, shrink_run

from barnabas.broker.cluster_member import ClusterMember
from barnabas.replication import partition as partition_module
from barnabas.replication.roles import Leader

_SEEDS = 20
_SOAK_SEEDS = int(os.environ.get("BARNABAS_SOAK_SEEDS", "10000"))
_ROOT = Path(__file__).parents[2]


def test_seeds_bring_about_every_kind_of_fault() -> None:
    for name in ("one_broker", "three_brokers"):
        faults = [fault for seed in range(_SEEDS) for fault in PLANS[name](seed).faults]
        assert {"kill", "restart", "isolate", "slow_disk", "store_away", "reset"} <= {f.kind for f in faults}


def test_one_plan_has_one_trace() -> None:
    plan = PLANS["one_broker"](3)
    first, second = run(plan), run(plan)
    assert (first.digest, first.steps, first.counts) == (second.digest, second.steps, second.counts)
    assert run(PLANS["one_broker"](4)).digest != first.digest


def test_another_process_with_other_hashes_has_the_same_trace() -> None:
    plan = PLANS["three_brokers"](5)
    command = [sys.executable, "-m", "tests.simulation.world", "three_brokers", "5"]
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    shown = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.rstrip().endswith(f"digest {run(plan).digest:x}")


@pytest.mark.soak
def test_many_seeds() -> None:
    for seed in range(1000, 1000 + _SOAK_SEEDS):
        for make in PLANS.values():
            run_and_report(make(seed))


# Planted flaws: what the simulation is for.


def test_acknowledgement_before_the_sync_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a list of faults that is made shorter: one loss of power is enough."""
    monkeypatch.setattr(partition_module, "must_flush", lambda log: False)
    found = next(found for seed in range(40) if (found := run(PLANS["power_cuts"](seed))).violations)
    assert found.violations[0].kind in ("no-electable-replica", "lost-record")
    shortest = shrink_run(found, attempts=20)
    assert shortest.violations[0].kind == found.violations[0].kind
    assert [fault.kind for fault in shortest.plan.faults] == ["cut_power"]


def test_broker_that_does_not_register_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run ends healed: what stays away is a violation too."""
    plan = Plan(1, (Fault("expire_session", 1.0),), seconds=2.0)
    assert run(plan).violations == ()
    monkeypatch.setattr(ClusterMember, "_on_expired", lambda _: None)
    assert [violation.kind for violation in run(plan).violations] == ["TimeLimit"]


def test_missing_check_of_min_isr_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Leader, "is_under_min_isr", lambda *_: False)
    assert any(run(PLANS["dying_in_turn"](seed)).violations for seed in range(40))


# Lists of faults


def test_list_of_faults_is_replayed_from_its_text() -> None:
    faults = generate(5, 40, 10.0, 3)
    assert len({fault.kind for fault in faults}) > 8
    again = eval(f"[{', '.join(map(repr, faults))}]", {"Fault": Fault})
    assert tuple(again) == faults


def test_faults_can_be_left_out_one_by_one() -> None:
    plan = PLANS["one_broker"](2)
    for number in range(len(plan.faults)):
        rest = plan.faults[:number] + plan.faults[number + 1 :]
        assert run(replace(plan, faults=rest, seconds=4.0)).violations == ()
