"""Simulations of a whole broker with clients and faults: fixed seeds, so that every run is the same.

A failure prints its seed and a list of faults that is made as short as possible. `BARNABAS_SOAK_SEEDS` says
how many seeds the long test runs.
"""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.simulation.faults import Fault, generate
from tests.simulation.plans import PLANS, Plan
from tests.simulation.world import Run, run, shrink_run

from barnabas.broker.cluster_member import ClusterMember
from barnabas.replication import isr
from barnabas.replication import partition as partition_module
from barnabas.replication.partition import Partition
from barnabas.replication.roles import Leader

_SEEDS = 8
_CLUSTER_SEEDS = 30
_SOAK_SEEDS = int(os.environ.get("BARNABAS_SOAK_SEEDS", "10000"))


def run_and_report(plan: Plan) -> Run:
    found = run(plan)
    if found.violations:
        pytest.fail(str(shrink_run(found)), pytrace=False)
    return found


@pytest.mark.parametrize(
    ("name", "seed"),
    [(name, seed) for name in PLANS for seed in range(_CLUSTER_SEEDS if name == "three_brokers" else _SEEDS)],
)
def test_nothing_acknowledged_is_lost(name: str, seed: int) -> None:
    found = run_and_report(PLANS[name](seed))
    assert found.counts["acknowledged"] > 5
    assert found.counts["written"] > 5


def test_seeds_bring_about_every_kind_of_fault() -> None:
    for make in PLANS.values():
        faults = [fault for seed in range(_SEEDS) for fault in make(seed).faults]
        assert {"kill", "restart", "isolate", "slow_disk", "store_away", "reset"} <= {f.kind for f in faults}


def test_one_plan_has_one_trace() -> None:
    plan = PLANS["one_broker"](3)
    first, second = run(plan), run(plan)
    assert (first.digest, first.steps, first.counts) == (second.digest, second.steps, second.counts)
    assert run(PLANS["one_broker"](4)).digest != first.digest


@pytest.mark.soak
def test_many_seeds() -> None:
    for seed in range(1000, 1000 + _SOAK_SEEDS):
        for make in PLANS.values():
            run_and_report(make(seed))


# Planted flaws: what the simulation is for.


def test_acknowledgement_before_the_sync_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a list of faults that is made shorter: one loss of power is enough."""
    monkeypatch.setattr(partition_module, "_must_flush", lambda log: False)
    found = next(found for seed in range(20) if (found := run(PLANS["power_cuts"](seed))).violations)
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


def _high_watermark_is_the_log_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(isr, "high_watermark", lambda leader_end, *_: leader_end)


def _followers_keep_diverged_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "truncate_to_divergence", lambda *_: None)


def _min_isr_is_not_checked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Leader, "is_under_min_isr", lambda *_: False)


@pytest.mark.parametrize(
    "flaw", [_high_watermark_is_the_log_end, _followers_keep_diverged_records, _min_isr_is_not_checked]
)
def test_flaw_of_replication_is_found(
    flaw: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    flaw(monkeypatch)
    assert any(run(PLANS["three_brokers"](seed)).violations for seed in range(40))


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
