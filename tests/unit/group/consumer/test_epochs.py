"""Epochs and fencing: a member with a wrong epoch must rejoin, one that missed a response need not."""

from dataclasses import replace

import pytest
from tests.unit.group.consumer.consumer_shard import Client, ConsumerShard, partitions_of, settle

from barnabas.base.errors import CoordinatorNotAvailable, FencedMemberEpoch, UnknownMemberId
from barnabas.group.consumer.member import MemberState


def test_unknown_member_is_refused() -> None:
    shard = ConsumerShard()
    shard.join("a")
    with pytest.raises(UnknownMemberId, match=r"Member b is not a member of group g\."):
        shard.heartbeat("b", 2).result()


def test_an_epoch_from_the_future_is_fenced() -> None:
    shard = ConsumerShard()
    shard.join("a")
    with pytest.raises(FencedMemberEpoch, match=r"greater member epoch \(3\) than .* coordinator \(2\)"):
        shard.heartbeat("a", 3).result()


def test_an_old_epoch_is_fenced() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b")
    settle([first, second])
    with pytest.raises(FencedMemberEpoch, match=r"smaller member epoch \(1\)"):
        shard.heartbeat("a", 1, owned=frozenset()).result()


def test_the_previous_epoch_is_accepted_while_the_answer_may_have_been_lost() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b")
    first.settle()
    second.beat()
    first.beat()
    first.reconcile()
    owned = frozenset(first.holds)
    moved = shard.heartbeat("a", 2, owned=owned).result()
    assert moved.member_epoch == 3
    again = shard.heartbeat("a", 2, owned=owned).result()
    assert again.member_epoch == 3


def test_the_previous_epoch_is_fenced_without_partitions_or_with_foreign_ones() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b")
    first.settle()
    second.beat()
    first.beat()
    given_up = frozenset(first.holds) - first.assigned
    first.reconcile()
    first.beat()
    for owned in (None, given_up, partitions_of("nowhere", 0)):
        with pytest.raises(FencedMemberEpoch, match="smaller member epoch"):
            shard.heartbeat("a", 2, owned=owned).result()


def test_a_fenced_member_joins_again_and_the_group_converges() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b")
    settle([first, second])
    first.epoch = 77
    first.beat()
    assert first.holds == set()
    settle([first, second])
    assert len(first.holds) == len(second.holds) == 2


def test_a_member_that_leaves_frees_its_partitions() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b")
    settle([first, second])
    epoch = shard.group.epoch
    second.leave()
    assert shard.group.epoch == epoch + 1
    assert shard.group.state_name == "Assigning"
    first.beat()
    assert len(first.holds) == 4
    assert shard.group.state_name == "Stable"


def test_leaving_returns_the_epoch_of_the_request() -> None:
    shard = ConsumerShard()
    shard.join("a")
    reply = shard.heartbeat("a", -1).result()
    assert (reply.member_id, reply.member_epoch) == ("a", -1)
    assert shard.group.is_empty
    assert shard.group.state_name == "Empty"
    assert shard.groups.subscribed_to("orders") == frozenset()
    with pytest.raises(UnknownMemberId):
        shard.heartbeat("a", -1).result()


def test_a_member_that_stops_sending_heartbeats_is_fenced_when_its_session_ends() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b")
    settle([first, second])
    shard.driver.advance(30_000)
    first.beat()
    shard.driver.advance(14_999)
    assert set(shard.group.members) == {"a", "b"}
    shard.driver.advance(1)
    assert set(shard.group.members) == {"a"}
    first.beat()
    assert len(first.holds) == 4


def test_the_session_timeout_of_a_group_is_its_own() -> None:
    shard = ConsumerShard()
    shard.set_group_config(consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="7000")
    assert shard.join("a").heartbeat_interval.total_seconds() == 7
    shard.driver.advance(49_999)
    assert not shard.group.is_empty
    shard.driver.advance(1)
    assert shard.group.is_empty


def test_a_member_that_does_not_give_up_its_partitions_in_time_is_fenced() -> None:
    shard = ConsumerShard()
    slow, second = Client(shard, "a", timeout=10_000), Client(shard, "b")
    slow.settle()
    second.beat()
    slow.beat()
    assert shard.group.members["a"].state == MemberState.UNREVOKED_PARTITIONS
    for _ in range(9):
        shard.driver.advance(1_000)
        slow.beat()
        second.beat()
    assert second.holds == set()
    shard.driver.advance(1_000)
    assert set(shard.group.members) == {"b"}
    second.beat()
    assert len(second.holds) == 4


def test_a_member_that_gave_up_in_time_is_not_fenced_later() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a", timeout=10_000), Client(shard, "b", timeout=10_000)
    first.settle()
    settle([second, first])
    for _ in range(5):
        shard.driver.advance(5_000)
        settle([first, second], rounds=1)
    assert set(shard.group.members) == {"a", "b"}


def test_leaving_that_cannot_be_written_keeps_the_member_and_its_session() -> None:
    shard = ConsumerShard()
    shard.join("a")
    shard.driver.fail_next(CoordinatorNotAvailable())
    assert isinstance(shard.heartbeat("a", -1).error, CoordinatorNotAvailable)
    assert not shard.group.is_empty
    shard.driver.advance(45_000)
    assert shard.group.is_empty


def test_fencing_that_cannot_be_written_is_tried_again() -> None:
    shard = ConsumerShard()
    shard.join("a")
    shard.driver.fail_next(CoordinatorNotAvailable(), times=2)
    shard.driver.advance(45_000)
    assert not shard.group.is_empty
    shard.driver.advance(1_000)
    assert shard.group.is_empty


def test_after_a_reload_members_have_a_whole_session_and_rebalance_timeout() -> None:
    shard = ConsumerShard()
    slow, second = Client(shard, "a", timeout=10_000), Client(shard, "b")
    slow.settle()
    second.beat()
    slow.beat()
    shard.driver.advance(9_000)
    other = shard.reloaded()
    slow.shard = second.shard = other
    other.driver.advance(9_999)
    assert set(other.group.members) == {"a", "b"}
    other.driver.advance(1)
    assert set(other.group.members) == {"b"}
    other.driver.advance(35_000)
    assert other.group.is_empty


def test_a_member_in_a_state_of_the_future_is_fenced_until_it_owns_nothing() -> None:
    shard = ConsumerShard()
    shard.join("a")
    record = shard.driver.records[-1]
    shard.consumer_groups.replay(replace(record, value=replace(record.value, state=42)))
    assert shard.group.members["a"].state == MemberState.UNKNOWN
    with pytest.raises(FencedMemberEpoch, match="unknown state"):
        shard.heartbeat("a", 2).result()
    reply = shard.join("a")
    assert shard.partitions(reply) == partitions_of("orders", 0, 1, 2, 3)
    assert shard.group.state_name == "Stable"
