"""Static members: they leave temporarily and rejoin under another id, without a rebalance."""

import pytest
from tests.unit.group.consumer.consumer_shard import Client, ConsumerShard, durable, settle

from barnabas.base.errors import FencedInstanceId, FencedMemberEpoch, UnknownMemberId, UnreleasedInstanceId


def _two_static(shard: ConsumerShard) -> tuple[Client, Client]:
    first, second = Client(shard, "a1", instance_id="a"), Client(shard, "b1", instance_id="b")
    settle([first, second])
    return first, second


def test_an_instance_that_is_still_there_cannot_be_taken() -> None:
    shard = ConsumerShard()
    _two_static(shard)
    with pytest.raises(
        UnreleasedInstanceId,
        match=r"Static member a2 with instance id a cannot join .* the instance id is owned by a1 member\.",
    ):
        shard.join("a2", instance_id="a")


def test_a_static_member_that_rejoins_gets_its_partitions_without_a_rebalance() -> None:
    shard = ConsumerShard()
    first, second = _two_static(shard)
    held, epoch = frozenset(first.holds), shard.group.epoch
    first.leave_for_a_while()
    assert shard.group.members["a1"].epoch == -2
    second.beat()
    assert second.assigned.isdisjoint(held), "no other member gets them meanwhile"
    reply = shard.join("a2", instance_id="a")
    assert shard.partitions(reply) == held
    assert reply.member_epoch == shard.group.epoch == epoch
    assert set(shard.group.members) == {"a2", "b1"}
    assert shard.group.state_name == "Stable"
    assert durable(shard.reloaded().group) == durable(shard.group)


def test_a_static_member_may_rejoin_under_the_id_it_had() -> None:
    shard = ConsumerShard()
    first, second = _two_static(shard)
    held = frozenset(first.holds)
    first.leave_for_a_while()
    reply = shard.join("a1", instance_id="a")
    assert shard.partitions(reply) == held
    shard.driver.advance(44_000)
    second.beat()
    shard.heartbeat("a1", reply.member_epoch, instance_id="a").result()
    shard.driver.advance(44_000)
    assert "a1" in shard.group.members, "the session of the one that came back counts"


def test_one_that_rejoins_with_another_subscription_starts_a_rebalance() -> None:
    shard = ConsumerShard({"orders": 4, "payments": 2})
    first, second = _two_static(shard)
    epoch = shard.group.epoch
    first.leave_for_a_while()
    back = Client(shard, "a2", ["payments"], instance_id="a")
    settle([back, second])
    assert shard.group.epoch == epoch + 1
    assert back.holds == {("payments", 0), ("payments", 1)}
    assert len(second.holds) == 4


def test_a_static_member_that_does_not_rejoin_is_fenced_with_its_session() -> None:
    shard = ConsumerShard()
    first, second = _two_static(shard)
    first.leave_for_a_while()
    shard.driver.advance(30_000)
    second.beat()
    shard.driver.advance(15_000)
    assert set(shard.group.members) == {"b1"}
    second.beat()
    assert len(second.holds) == 4


def test_the_replaced_member_is_fenced_and_its_old_session_means_nothing() -> None:
    shard = ConsumerShard()
    first, second = _two_static(shard)
    first.leave_for_a_while()
    back = Client(shard, "a2", instance_id="a")
    back.beat()
    with pytest.raises(
        FencedInstanceId, match=r"Static member a1 with instance id a was fenced by member a2\."
    ):
        shard.heartbeat("a1", back.epoch, instance_id="a").result()
    with pytest.raises(UnknownMemberId):
        shard.heartbeat("a1", back.epoch).result()
    for _ in range(3):
        shard.driver.advance(20_000)
        settle([back, second], rounds=1)
    assert set(shard.group.members) == {"a2", "b1"}


def test_a_static_member_that_left_temporarily_is_fenced_if_it_goes_on() -> None:
    shard = ConsumerShard()
    first, _ = _two_static(shard)
    epoch = first.epoch
    first.leave_for_a_while()
    with pytest.raises(FencedMemberEpoch):
        shard.heartbeat("a1", epoch, instance_id="a").result()


def test_an_unknown_instance_is_refused() -> None:
    shard = ConsumerShard()
    _two_static(shard)
    with pytest.raises(UnknownMemberId, match=r"Instance id c is unknown\."):
        shard.heartbeat("a1", 2, instance_id="c").result()
    with pytest.raises(UnknownMemberId, match=r"Instance id c is unknown\."):
        shard.heartbeat("a1", -2, instance_id="c").result()
    with pytest.raises(FencedInstanceId):
        shard.heartbeat("x", -1, instance_id="a").result()


def test_a_static_member_that_leaves_for_good_gives_up_its_partitions() -> None:
    shard = ConsumerShard()
    first, second = _two_static(shard)
    first.leave()
    assert shard.group.static_members == {"b": "b1"}
    second.beat()
    assert len(second.holds) == 4


def test_one_that_leaves_in_the_middle_of_giving_up_rejoins_clean() -> None:
    shard = ConsumerShard()
    first = Client(shard, "a1", instance_id="a")
    first.settle()
    second = Client(shard, "b")
    second.beat()
    first.beat()
    first.leave_for_a_while()
    back = Client(shard, "a2", instance_id="a")
    settle([back, second])
    assert len(back.holds) == len(second.holds) == 2
    assert shard.group.state_name == "Stable"


def test_one_that_rejoins_in_a_rebalance_keeps_what_it_had() -> None:
    shard = ConsumerShard({"orders": 9})
    clients = [Client(shard, f"{name}1", instance_id=name) for name in "abc"]
    settle(clients)
    before = {client.instance_id: set(client.holds) for client in clients}
    clients[2].leave_for_a_while()
    shard.set_topics({"orders": 12})
    clients[2] = Client(shard, "z2", instance_id="c")
    clients[2].beat()
    settle(clients)
    for client in clients:
        assert before[client.instance_id] < client.holds


def test_one_that_left_temporarily_is_not_held_to_its_rebalance_timeout() -> None:
    shard = ConsumerShard()
    first = Client(shard, "a1", instance_id="a", timeout=5_000)
    first.settle()
    second = Client(shard, "b")
    second.beat()
    first.beat()
    first.leave_for_a_while()
    shard.driver.advance(20_000)
    assert set(shard.group.members) == {"a1", "b"}
