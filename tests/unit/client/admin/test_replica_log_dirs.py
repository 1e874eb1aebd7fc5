from collections.abc import Mapping

import pytest
from tests.fakes.fake_cluster import FakeCluster, Fields

from barnabas.client.admin.replica_log_dirs import (
    MoveKind,
    MoveRefused,
    MoveState,
    MoveTimeout,
    Replica,
    ReplicaLogDir,
    describe_replica_log_dirs,
    move_states,
    start_moves,
)

BROKERS = {1: None, 2: None}
A1, A2, B1 = Replica("a", 0, 1), Replica("a", 0, 2), Replica("b", 0, 1)


def _copy(topic: str, size: int, *, lag: int = 0, is_future: bool = False) -> Fields:
    partition = {
        "partition_index": 0,
        "partition_size": size,
        "offset_lag": lag,
        "is_future_key": is_future,
    }
    return {"name": topic, "partitions": [partition]}


def _disks(to: int | None, fields: Fields) -> Fields:
    """Broker 1: a moves from /x to /y. Broker 2: a is on /x; /z is offline."""
    if to == 1:
        return {
            "results": [
                {"log_dir": "/x", "topics": [_copy("a", 100)]},
                {"log_dir": "/y", "topics": [_copy("a", 40, lag=6, is_future=True)]},
            ]
        }
    return {
        "results": [{"log_dir": "/x", "topics": [_copy("a", 90, lag=1)]}, {"log_dir": "/z", "error_code": 56}]
    }


def test_each_broker_gets_the_request_for_its_own_replicas() -> None:
    cluster = FakeCluster(BROKERS, {"describe_log_dirs": _disks})
    found = describe_replica_log_dirs(cluster, [A1, A2, B1])
    assert found == {
        A1: ReplicaLogDir("/x", "/y", size=100, lag=0, future_size=40),
        A2: ReplicaLogDir("/x", None, size=90, lag=1),
        B1: ReplicaLogDir(),
    }
    assert [(each.to, [topic["topic"] for topic in each.fields["topics"]]) for each in cluster.requests] == [
        (1, ["a", "b"]),
        (2, ["a"]),
    ]


def test_states_of_moves_between_directories() -> None:
    cluster = FakeCluster(BROKERS, {"describe_log_dirs": _disks})
    assert move_states(cluster, {A1: "/y", A2: "/x", B1: "/x"}) == {
        A1: MoveState(MoveKind.ACTIVE, "/y", "/x", "/y"),
        A2: MoveState(MoveKind.COMPLETED, "/x", "/x"),
        B1: MoveState(MoveKind.MISSING_LOG_DIR, "/x"),
    }
    assert move_states(cluster, {A2: "/y"})[A2] == MoveState(MoveKind.CANCELLED, "/y", "/x")


def test_two_current_copies_are_a_move_that_is_not_over() -> None:
    both = [{"log_dir": path, "topics": [_copy("a", 100)]} for path in ("/x", "/y")]
    for _ in range(2):
        cluster = FakeCluster(BROKERS, {"describe_log_dirs": lambda to, fields: {"results": both}})
        assert move_states(cluster, {A1: "/y"})[A1].kind is MoveKind.ACTIVE
        both.reverse()


class _Moves:
    """Answers AlterReplicaLogDirs with one code after another, for each replica."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.paths: list[list[str]] = []

    def __call__(self, to: int | None, fields: Fields) -> Mapping[str, object]:
        self.paths.append([each["path"] for each in fields["dirs"]])
        code = self.codes.pop(0)
        topics = [topic for each in fields["dirs"] for topic in each["topics"]]
        return {
            "results": [
                {
                    "topic_name": topic["name"],
                    "partitions": [
                        {"partition_index": index, "error_code": code} for index in topic["partitions"]
                    ],
                }
                for topic in topics
            ]
        }


def test_missing_replica_is_requested_again() -> None:
    moves, pauses = _Moves(9, 9, 0), list[float]()
    cluster = FakeCluster(BROKERS, {"alter_replica_log_dirs": moves})
    started = list(start_moves(cluster, {A2: "/y"}, timeout=10.0, clock=lambda: 0.0, pause=pauses.append))
    assert started == [A2]
    assert moves.paths == [["/y"]] * 3
    assert len(pauses) == 2


def test_moves_that_do_not_begin_in_time_are_named() -> None:
    cluster = FakeCluster(BROKERS, {"alter_replica_log_dirs": _Moves(9, 9)})
    with pytest.raises(MoveTimeout, match=r"^Timed out before log directory moves .* for: a-0-1,b-0-1$"):
        list(start_moves(cluster, {B1: "/y", A1: "/y"}, timeout=0.0, pause=lambda seconds: None))


def test_directory_that_does_not_exist_is_refused_at_once() -> None:
    cluster = FakeCluster(BROKERS, {"alter_replica_log_dirs": _Moves(57)})
    with pytest.raises(
        MoveRefused, match=r"^Failed to alter dir for a-0-1: The user-specified log directory"
    ):
        list(start_moves(cluster, {A1: "/nowhere"}, timeout=10.0))


def test_no_moves_ask_nothing() -> None:
    assert list(start_moves(FakeCluster(BROKERS, {}), {}, timeout=1.0)) == []
