from tests.fakes.fake_cluster import FakeCluster

from barnabas.client.admin.reassignments import Reassignment
from barnabas.client.admin.throttles import (
    Move,
    clear_broker_throttles,
    clear_topic_throttles,
    follower_throttles,
    leader_throttles,
    moves_of,
    moving_brokers,
    throttle_log_dirs,
    throttle_moves,
)

MOVES = {
    ("a", 0): Move(frozenset({1, 2}), frozenset({3})),
    ("a", 10): Move(frozenset({2}), frozenset({3, 4})),
    ("b", 0): Move(frozenset({1}), frozenset()),
}


def _cluster() -> FakeCluster:
    return FakeCluster({1: None, 2: None}, {"incremental_alter_configs": lambda to, fields: {}})


def _sent(cluster: FakeCluster) -> list[tuple[int | None, str, dict[str, tuple[int, object]]]]:
    return [
        (
            requested.to,
            resource["resource_name"],
            {each["name"]: (each["config_operation"], each["value"]) for each in resource["configs"]},
        )
        for requested in cluster.requests
        for resource in requested.fields["resources"]
    ]


def test_sources_are_the_old_replicas_and_destinations_the_new_ones() -> None:
    moves = moves_of({}, {("a", 0): (2, 3), ("b", 0): (1,)}, {("a", 0): (1, 2), ("b", 0): (1,)})
    assert moves == {("a", 0): Move(frozenset({1, 2}), frozenset({3})), ("b", 0): MOVES["b", 0]}


def test_move_that_goes_on_keeps_its_sources_when_it_gets_a_new_target() -> None:
    ongoing = {("a", 0): Reassignment((1, 2, 3), (3,), (1,)), ("c", 0): Reassignment((5, 6), (6,), (5,))}
    moves = moves_of(ongoing, {("a", 0): (4,)}, {("a", 0): (1, 2, 3)})
    assert moves == {
        ("a", 0): Move(frozenset({1, 2}), frozenset({4})),
        ("c", 0): Move(frozenset({5}), frozenset({6})),
    }


def test_throttled_replicas_are_written_as_kafka_writes_them() -> None:
    assert leader_throttles(MOVES) == {"a": "0:1,0:2,10:2", "b": "0:1"}
    assert follower_throttles(MOVES) == {"a": "0:3,10:3,10:4", "b": ""}
    assert moving_brokers(MOVES) == [1, 2, 3, 4]


def test_throttle_sets_replicas_of_topics_and_rates_of_brokers() -> None:
    cluster = _cluster()
    throttle_moves(cluster, {("a", 0): Move(frozenset({1}), frozenset({2}))}, 1000)
    rates = {
        "leader.replication.throttled.rate": (0, "1000"),
        "follower.replication.throttled.rate": (0, "1000"),
    }
    assert _sent(cluster) == [
        (
            None,
            "a",
            {
                "leader.replication.throttled.replicas": (0, "0:1"),
                "follower.replication.throttled.replicas": (0, "0:2"),
            },
        ),
        (1, "1", rates),
        (2, "2", rates),
    ]


def test_throttle_of_directories_is_a_setting_of_brokers() -> None:
    cluster = _cluster()
    throttle_log_dirs(cluster, {2}, 7)
    assert _sent(cluster) == [(2, "2", {"replica.alter.log.dirs.io.max.bytes.per.second": (0, "7")})]


def test_clearing_deletes_every_setting_that_was_made() -> None:
    cluster = _cluster()
    clear_broker_throttles(cluster, [1])
    clear_topic_throttles(cluster, {"a"})
    ((_, _, of_broker), (_, _, of_topic)) = _sent(cluster)
    assert of_broker == dict.fromkeys(
        (
            "leader.replication.throttled.rate",
            "follower.replication.throttled.rate",
            "replica.alter.log.dirs.io.max.bytes.per.second",
        ),
        (1, None),
    )
    assert of_topic == dict.fromkeys(
        ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"), (1, None)
    )
