"""Every planted flaw of replication is found, and named by a violation that fits."""

import pytest
from tests.simulation.flaws import FLAWS, Flaw
from tests.simulation.world import run

each_flaw = pytest.mark.parametrize("flaw", [pytest.param(flaw, id=flaw.name) for flaw in FLAWS])


@each_flaw
def test_flaw_is_found_and_named(flaw: Flaw) -> None:
    with flaw.planted():
        for seed in range(flaw.seeds):
            violations = run(flaw.plan(seed)).violations
            if violations:
                assert violations[0].kind in flaw.violations, str(violations[0])
                return
    pytest.fail(f"no violation with {flaw.seeds} seeds")


@each_flaw
def test_faults_of_a_flaw_do_no_harm_without_it(flaw: Flaw) -> None:
    assert run(flaw.plan(0)).violations == ()


@pytest.mark.soak
@each_flaw
def test_many_seeds_name_only_the_flaw(flaw: Flaw) -> None:
    with flaw.planted():
        kinds = {violation.kind for seed in range(100) for violation in run(flaw.plan(seed)).violations[:1]}
    assert kinds
    assert kinds <= flaw.violations
