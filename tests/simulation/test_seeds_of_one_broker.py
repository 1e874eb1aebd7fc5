"""A broker alone that is killed, cut off and loses power. Fixed seeds, so that every run is the same."""

from tests.simulation.seeds import check_seed, of_plans


@of_plans(one_broker=8, power_cuts=8)
def test_seed(name: str, seed: int) -> None:
    check_seed(name, seed)
