"""Partitions that get other replicas, brokers that join and die. Fixed seeds: every run is the same."""

from tests.simulation.seeds import check_seed, of_plans


@of_plans(reassignments=25)
def test_seed(name: str, seed: int) -> None:
    check_seed(name, seed)
