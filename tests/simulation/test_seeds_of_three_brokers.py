"""Three brokers with every kind of fault. Fixed seeds, so that every run is the same."""

from tests.simulation.seeds import check_seed, of_plans


@of_plans(three_brokers=45)
def test_seed(name: str, seed: int) -> None:
    check_seed(name, seed)
