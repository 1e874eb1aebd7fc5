"""Leaders that change all the time, also outside of the ISR. Fixed seeds, so that every run is the same."""

from tests.simulation.seeds import check_seed, of_plans


@of_plans(failovers=40, unclean_elections=15)
def test_seed(name: str, seed: int) -> None:
    check_seed(name, seed)
