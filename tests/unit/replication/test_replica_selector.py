import pytest

from barnabas.replication.replica_selector import LEADER, ReadableReplica, closest_replica

FOLLOWERS = (
    ReadableReplica(2, "b", 10, 100),
    ReadableReplica(3, "c", 9, 300),
    ReadableReplica(4, "c", 9, 200),
    ReadableReplica(5, "d", 8, 100),
    ReadableReplica(6, "d", 8, 100),
    ReadableReplica(7, None, 10, 100),
)


@pytest.mark.parametrize(
    ("rack", "expected"),
    [
        ("a", LEADER),  # the leader's own
        ("b", 2),
        ("c", 3),  # equally far, and caught up later
        ("d", 6),
        ("elsewhere", LEADER),
    ],
)
def test_closest_replica_is_in_the_rack_and_most_caught_up(rack: str, expected: int) -> None:
    assert closest_replica(rack, "a", FOLLOWERS) == expected


def test_longest_log_comes_first() -> None:
    followers = (ReadableReplica(2, "b", 10, 100), ReadableReplica(3, "b", 9, 300))
    assert closest_replica("b", None, followers) == 2
