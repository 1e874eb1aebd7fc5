"""Brokers that die in turn, until the last of the ISR. Fixed seeds, so that every run is the same."""

from tests.simulation.seeds import check_seed, of_plans


@of_plans(dying_in_turn=35, coordinators=5)
def test_seed(name: str, seed: int) -> None:
    check_seed(name, seed)
