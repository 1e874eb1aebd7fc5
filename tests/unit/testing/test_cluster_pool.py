from typing import Any

import pytest

from barnabas.testing.cluster_pool import KEPT, ClusterPool


class FakeCluster:
    def __init__(self, **arguments: object) -> None:
        self.arguments = arguments
        self.calls: list[str] = []
        self.can_heal = True

    def __enter__(self) -> "FakeCluster":
        self.calls.append("start")
        return self

    def heal(self) -> None:
        if not self.can_heal:
            raise TimeoutError("a replica does not return")
        self.calls.append("heal")

    def topics(self) -> set[str]:
        return {"orders"}

    def delete_topics(self, names: set[str]) -> None:
        self.calls.append(f"delete {sorted(names)}")

    def close(self) -> None:
        self.calls.append("close")


def _pool() -> Any:
    make: Any = FakeCluster
    return ClusterPool(make)


def test_tests_with_equal_arguments_share_a_cluster_that_is_healed_and_emptied() -> None:
    with _pool() as pool:
        with pool.lend(brokers=3, config={"a": 1, "b": 2}) as first:
            assert first.calls == ["start"]
        with pool.lend(config={"b": 2, "a": 1}, brokers=3) as second:
            assert second is first
            assert first.calls == ["start", "heal", "delete ['orders']"]
        with pool.lend(brokers=2) as other:
            assert other is not first
    assert first.calls[-1] == other.calls[-1] == "close"


def test_only_the_last_clusters_stay() -> None:
    with _pool() as pool:
        made = []
        for count in range(1, KEPT + 2):
            with pool.lend(brokers=count) as cluster:
                made.append(cluster)
        assert [each.calls[-1] == "close" for each in made] == [True] + [False] * KEPT


def test_cluster_that_cannot_be_healed_is_closed_and_replaced() -> None:
    with _pool() as pool:
        with pytest.raises(TimeoutError), pool.lend() as broken:
            broken.can_heal = False
        assert broken.calls[-1] == "close"
        with pool.lend() as cluster:
            assert cluster is not broken
