"""One of three brokers loses power again and again. Fixed seeds, so that every run is the same."""

from tests.simulation.seeds import check_seed, of_plans


@of_plans(power_cut_of_one=35)
def test_seed(name: str, seed: int) -> None:
    check_seed(name, seed)
