"""A member joins, gets its epoch and assignment, and is written to the log."""

import pytest
from tests.unit.group.consumer.consumer_shard import (
    CONTEXT,
    GROUP,
    Client,
    ConsumerShard,
    durable,
    partitions_of,
    settle,
    topic_id,
)

from barnabas.base.errors import CoordinatorNotAvailable, GroupMaxSizeReached
from barnabas.group.consumer.member import MemberState
from barnabas.group.environment import RequestContext
from barnabas.group.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    ConsumerMemberValue,
    CurrentAssignmentValue,
    TargetMetadataValue,
)

ORDERS = topic_id("orders")


def test_the_first_member_gets_every_partition_and_epoch_two() -> None:
    shard = ConsumerShard()
    reply = shard.join("a")
    assert (reply.member_id, reply.member_epoch) == ("a", 2)
    assert shard.partitions(reply) == partitions_of("orders", 0, 1, 2, 3)
    assert reply.heartbeat_interval.total_seconds() == 5
    assert shard.group.state_name == "Stable"
    assert shard.groups.subscribed_to("orders") == {GROUP}


def test_joining_is_written_as_kafka_writes_it() -> None:
    shard = ConsumerShard()
    shard.join("a", topics=["orders", "absent", "orders"], rack_id="r1", server_assignor="range")
    member, group, target, target_epoch, current = shard.driver.records
    assert member == ConsumerGroupMemberMetadata(
        GROUP,
        "a",
        ConsumerMemberValue(
            None, "r1", "client", "/127.0.0.1", ("absent", "orders"), "", 60_000, "range", None
        ),
    )
    assert isinstance(group, ConsumerGroupMetadata)
    assert group.value is not None
    assert group.value.epoch == 2
    assert group.value.metadata_hash != 0
    assert target == ConsumerGroupTargetAssignmentMember(GROUP, "a", {ORDERS: frozenset(range(4))})
    assert target_epoch == ConsumerGroupTargetAssignmentMetadata(
        GROUP, TargetMetadataValue(2, shard.driver.clock.now_ms())
    )
    assert current == ConsumerGroupCurrentMemberAssignment(
        GROUP,
        "a",
        CurrentAssignmentValue(2, 0, MemberState.STABLE, {ORDERS: dict.fromkeys(range(4), 2)}, {}),
    )


def test_a_member_that_wants_nothing_is_in_the_group() -> None:
    shard = ConsumerShard()
    reply = shard.join("a", topics=[])
    assert reply.member_epoch == 1
    assert shard.partitions(reply) == frozenset()
    assert shard.group.state_name == "Stable"


def test_a_topic_that_does_not_exist_yet_gives_an_empty_assignment() -> None:
    shard = ConsumerShard(topics={})
    reply = shard.join("a", topics=["later"])
    assert shard.partitions(reply) == frozenset()
    assert shard.groups.subscribed_to("later") == {GROUP}


def test_a_steady_heartbeat_writes_nothing_and_says_no_assignment() -> None:
    shard = ConsumerShard()
    shard.join("a")
    shard.heartbeat("a", 2)
    written = len(shard.driver.records)
    reply = shard.heartbeat("a", 2).result()
    assert reply.member_epoch == 2
    assert shard.partitions(reply) is None
    assert len(shard.driver.records) == written


def test_a_full_heartbeat_gets_the_assignment_again() -> None:
    shard = ConsumerShard()
    everything = shard.partitions(shard.join("a"))
    reply = shard.heartbeat("a", 2, topics=["orders"], owned=everything, timeout=60_000).result()
    assert shard.partitions(reply) == everything


def test_a_member_of_version_0_may_leave_its_id_to_the_coordinator() -> None:
    shard = ConsumerShard()
    context = RequestContext(0, "client", "/127.0.0.1")
    reply = shard.join("", context=context)
    assert len(reply.member_id) == 22
    assert list(shard.group.members) == [reply.member_id]


def test_an_append_that_fails_leaves_nothing_behind() -> None:
    shard = ConsumerShard()
    shard.driver.fail_next(CoordinatorNotAvailable())
    assert isinstance(shard.try_join("a").error, CoordinatorNotAvailable)
    assert shard.groups.find(GROUP) is None
    assert shard.groups.subscribed_to("orders") == frozenset()
    # The deadline of its session was set. It finds no member.
    shard.driver.advance(60_000)
    assert shard.driver.records == []
    assert shard.join("a").member_epoch == 2


def test_a_full_group_takes_no_new_member_but_knows_its_own() -> None:
    shard = ConsumerShard(consumer_max_size=1)
    shard.join("a")
    with pytest.raises(GroupMaxSizeReached, match="maximum capacity of 1 members"):
        shard.join("b")
    assert shard.heartbeat("a", 2).result().member_epoch == 2


def test_a_member_that_joins_again_under_its_id_keeps_its_epoch() -> None:
    shard = ConsumerShard()
    shard.join("a")
    reply = shard.join("a")
    assert reply.member_epoch == 2
    assert shard.partitions(reply) == partitions_of("orders", 0, 1, 2, 3)


def test_another_client_address_is_written_without_a_rebalance() -> None:
    shard = ConsumerShard()
    shard.join("a")
    moved = RequestContext(1, CONTEXT.client_id, "/10.0.0.7")
    assert shard.heartbeat("a", 2, context=moved).result().member_epoch == 2
    assert shard.group.members["a"].value.client_host == "/10.0.0.7"
    assert shard.group.epoch == 2


def test_a_member_that_joins_gets_what_others_give_up() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b")
    first.settle()
    second.beat()
    assert second.holds == set()
    first.beat()
    assert len(first.assigned) == 2
    assert len(first.holds) == 4, "it still works on what it has to give up"
    second.beat()
    assert second.holds == set(), "nothing is released before it was given up"
    first.reconcile()
    first.beat()
    second.beat()
    assert len(second.holds) == 2
    assert not second.holds & first.holds
    settle([first, second])
    assert shard.group.state_name == "Stable"
    assert first.epoch == second.epoch == shard.group.epoch


def test_one_group_of_three_on_three_partitions_has_one_each_and_a_fourth_member_idles() -> None:
    shard = ConsumerShard({"orders": 3})
    clients = [Client(shard, name) for name in "abcd"]
    settle(clients)
    assert sorted(len(client.holds) for client in clients) == [0, 1, 1, 1]
    assert shard.group.state_name == "Stable"


def test_a_reloaded_shard_has_the_same_group() -> None:
    shard = ConsumerShard({"orders": 5, "payments": 3})
    clients = [
        Client(shard, "a"),
        Client(shard, "b", ["payments"], instance_id="i"),
        Client(shard, "c", None, regex="o.*"),
    ]
    settle(clients, rounds=2)
    other = shard.reloaded()
    assert durable(other.group) == durable(shard.group)
    assert other.groups.subscribed_to("orders") == {GROUP}
    for client in clients:
        client.shard = other
    settle(clients)
    assert other.group.state_name == "Stable"
