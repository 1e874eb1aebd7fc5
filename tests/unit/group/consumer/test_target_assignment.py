"""When the target is computed, and by which assignor."""

from unittest import mock

import pytest
from tests.unit.group.consumer.consumer_shard import Client, ConsumerShard, partitions_of, settle

from barnabas.base.errors import UnknownServerError
from barnabas.group.assignors import ASSIGNORS
from barnabas.group.assignors.spec import PartitionAssignorError
from barnabas.group.consumer import target_assignment
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.records import ConsumerGroupTargetAssignmentMetadata


def _targets(shard: ConsumerShard) -> int:
    return sum(isinstance(each, ConsumerGroupTargetAssignmentMetadata) for each in shard.driver.records)


def test_the_target_is_not_computed_again_within_the_interval() -> None:
    shard = ConsumerShard(consumer_assignment_interval_ms=1_000)
    clients = [Client(shard, name) for name in "abcd"]
    for client in clients:
        client.settle()
    assert _targets(shard) == 1
    assert shard.group.state_name == "Assigning"
    assert [client.epoch for client in clients] == [2, 2, 2, 2]
    shard.driver.advance(999)
    settle(clients, rounds=1)
    assert _targets(shard) == 1
    shard.driver.advance(1)
    settle(clients, rounds=3)
    assert _targets(shard) == 2
    assert [len(client.holds) for client in clients] == [1, 1, 1, 1]
    assert shard.group.state_name == "Stable"


def test_a_group_may_have_an_interval_of_its_own() -> None:
    shard = ConsumerShard(consumer_assignment_interval_ms=60_000)
    shard.set_group_config(consumer_assignment_interval_ms="0")
    for name in "abc":
        shard.join(name)
    assert _targets(shard) == 3


def test_the_time_of_the_last_target_survives_a_reload() -> None:
    shard = ConsumerShard(consumer_assignment_interval_ms=1_000)
    shard.join("a")
    other = shard.reloaded()
    other.join("b")
    assert _targets(other) == 1


def test_a_thousand_members_that_join_one_by_one_compute_few_targets() -> None:
    shard = ConsumerShard({"orders": 1_000}, consumer_assignment_interval_ms=1_000)
    for number in range(1_000):
        shard.join(f"m{number}")
        shard.driver.advance(3)
    assert _targets(shard) <= 4
    assert shard.group.epoch == 1_001


def test_uniform_is_the_default_and_most_members_decide() -> None:
    shard = ConsumerShard({"x": 3, "y": 3})
    names = ["x", "y"]
    assert shard.consumer_groups.describe(_joined(shard, "a", names)).assignor_name == "uniform"
    assert shard.consumer_groups.describe(_joined(shard, "b", names, "range")).assignor_name == "range"
    _joined(shard, "c", names, "uniform")
    assert shard.consumer_groups.describe(shard.group).assignor_name == "uniform", "the first of the list"
    _joined(shard, "d", names, "range")
    assert shard.consumer_groups.describe(shard.group).assignor_name == "range"


def _joined(
    shard: ConsumerShard, member_id: str, topics: list[str], assignor: str | None = None
) -> ConsumerGroup:
    shard.join(member_id, topics, server_assignor=assignor)
    return shard.group


def test_range_puts_the_same_partitions_of_all_topics_together() -> None:
    shard = ConsumerShard({"x": 2, "y": 2}, consumer_assignors=("range",))
    first, second = Client(shard, "a", ["x", "y"]), Client(shard, "b", ["x", "y"])
    settle([first, second])
    assert first.holds == {("x", 0), ("y", 0)}
    assert second.holds == {("x", 1), ("y", 1)}


def test_another_assignor_alone_does_not_start_a_rebalance() -> None:
    shard = ConsumerShard()
    shard.join("a")
    shard.heartbeat("a", 2, server_assignor="range").result()
    assert shard.group.epoch == 2
    assert shard.group.server_assignors == {"range": 1}


def test_an_assignor_that_fails_is_an_error_and_changes_nothing() -> None:
    shard = ConsumerShard()
    failing = mock.Mock(**{"assign.side_effect": PartitionAssignorError("no")})
    with mock.patch.object(target_assignment, "ASSIGNORS", {**ASSIGNORS, "uniform": failing}):
        answer = shard.try_join("a")
    assert isinstance(answer.error, UnknownServerError)
    assert answer.error.message == "Failed to compute a new target assignment for epoch 2: no"
    assert shard.driver.records == []


def test_a_leaving_member_moves_only_its_own_partitions() -> None:
    shard = ConsumerShard({"orders": 9})
    clients = [Client(shard, name) for name in "abc"]
    settle(clients)
    before = {client.member_id: set(client.holds) for client in clients}
    clients.pop().leave()
    settle(clients)
    for client in clients:
        assert before[client.member_id] < client.holds
    assert clients[0].holds | clients[1].holds == partitions_of("orders", *range(9))


@pytest.mark.parametrize("seconds_back", [1, 3_600])
def test_a_clock_that_was_set_back_is_waited_for(seconds_back: int) -> None:
    shard = ConsumerShard(consumer_assignment_interval_ms=1_000)
    shard.join("a")
    shard.group.assignment_timestamp_ms += seconds_back * 1_000
    shard.driver.advance(1_500)
    shard.join("b")
    assert _targets(shard) == 1
