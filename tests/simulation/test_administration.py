"""Simulations with a client that creates, grows and deletes topics at any broker, while brokers fail."""

from dataclasses import replace

import pytest
from tests.simulation.plans import PLANS, Plan
from tests.simulation.seeds import run_and_report
from tests.simulation.world import run

_SEEDS = (2, 3, 5)


def plan(seed: int) -> Plan:
    return replace(PLANS["three_brokers"](seed), administration=True, transactions=False, groups=0)


@pytest.mark.parametrize("seed", _SEEDS)
def test_acknowledged_topics_exist_and_deleted_ones_do_not(seed: int) -> None:
    assert run_and_report(plan(seed)).counts["administered"] > 2


def test_administration_is_deterministic() -> None:
    assert run(plan(3)).digest == run(plan(3)).digest
