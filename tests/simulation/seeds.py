"""Runs the plans of many seeds in tests: a failure prints its seed and the shortest list of faults.

Each file of seeds stays in one worker of pytest, so there are several of them.
"""

import pytest
from tests.simulation.plans import PLANS, Plan
from tests.simulation.world import Run, run, shrink_run


def run_and_report(plan: Plan) -> Run:
    found = run(plan)
    if found.violations:
        pytest.fail(str(shrink_run(found)), pytrace=False)
    return found


def of_plans(**counts: int) -> pytest.MarkDecorator:
    """So many seeds of each plan, as parameters of a test."""
    cases = [(name, seed) for name, count in counts.items() for seed in range(count)]
    return pytest.mark.parametrize(("name", "seed"), cases)


def check_seed(name: str, seed: int) -> None:
    found = run_and_report(PLANS[name](seed))
    assert found.counts["acknowledged"] > 0
    assert found.counts["written"] > 5
