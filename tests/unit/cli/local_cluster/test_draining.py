from barnabas.cli.local_cluster.draining import plan


def test_replicas_go_to_the_brokers_with_the_fewest_at_the_same_position() -> None:
    current = {("a", 0): (1, 0), ("a", 1): (0, 1), ("a", 2): (2, 0), ("b", 0): (0, 2)}
    assert plan(current, 1, [0, 2, 3]) == {("a", 0): [3, 0], ("a", 1): [0, 3]}
    assert plan(current, 0, [1, 2, 3]) == {
        ("a", 0): [1, 3],
        ("a", 1): [3, 1],
        ("a", 2): [2, 1],
        ("b", 0): [3, 2],
    }


def test_replica_stays_where_every_other_broker_has_one() -> None:
    assert plan({("a", 0): (0, 1, 2), ("b", 0): (1,)}, 1, [0, 2]) == {("b", 0): [0]}
    assert plan({("a", 0): (1,)}, 1, []) == {}
