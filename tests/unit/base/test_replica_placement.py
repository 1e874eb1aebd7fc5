import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import InvalidReplicationFactor
from barnabas.base.replica_placement import StripedPlacer


@given(
    racks=st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=9),
    replication_factor=st.integers(1, 9),
    partitions=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
def test_no_broker_holds_a_partition_twice(
    racks: list[str | None], replication_factor: int, partitions: int, seed: int
) -> None:
    replication_factor = min(replication_factor, len(racks))
    placer = StripedPlacer(dict(enumerate(racks)), random.Random(seed))
    placed = placer.place(partitions, replication_factor)
    assert len(placed) == partitions
    for replicas in placed:
        assert len(replicas) == len(set(replicas)) == replication_factor
        assert set(replicas) <= set(range(len(racks)))


def test_leaders_and_replicas_are_spread_evenly() -> None:
    placed = StripedPlacer(dict.fromkeys(range(4)), random.Random(7)).place(400, 3)
    leaders = Counter(replicas[0] for replicas in placed)
    everywhere = Counter(broker for replicas in placed for broker in replicas)
    assert set(leaders.values()) == {100}
    assert set(everywhere.values()) == {300}


def test_replicas_are_on_different_racks() -> None:
    racks = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
    for replicas in StripedPlacer(racks, random.Random(3)).place(60, 3):
        assert {racks[broker] for broker in replicas} == {"a", "b", "c"}


def test_single_broker_gets_everything() -> None:
    assert StripedPlacer({5: None}, random.Random(0)).place(1000, 1) == [(5,)] * 1000


@pytest.mark.parametrize(
    ("brokers", "replication_factor", "reason"),
    [
        (0, 1, "All brokers are currently fenced"),
        (2, 3, "The target replication factor of 3 cannot be reached because only 2 broker"),
        (1, 0, "the replication factor must be positive"),
    ],
)
def test_impossible_placements(brokers: int, replication_factor: int, reason: str) -> None:
    placer = StripedPlacer(dict.fromkeys(range(brokers)), random.Random(0))
    with pytest.raises(InvalidReplicationFactor, match=reason):
        placer.place(1, replication_factor)
