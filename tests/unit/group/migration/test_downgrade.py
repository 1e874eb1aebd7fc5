"""The last member with the consumer protocol leaves, and classic members remain."""

from dataclasses import replace

import pytest
from tests.unit.group.consumer.consumer_shard import GROUP, topic_id
from tests.unit.group.migration.migration_clients import (
    ClassicClient,
    ConsumerClient,
    check_nothing_is_held_twice,
)
from tests.unit.group.migration.migration_shard import (
    MigrationShard,
    code,
    flat,
    subscription,
)

from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode
from barnabas.group.migration.consumer_protocol import parse_assignment
from barnabas.group.records import ClassicGroupMetadata

ORDERS = topic_id("orders")


def mixed(
    shard: MigrationShard, classic: int = 2, *, instance_id: str | None = None
) -> tuple[ConsumerClient, list[ClassicClient]]:
    """A stable consumer group with classic members and one consumer member, which may be static."""
    consumer = ConsumerClient(shard, "consumer", instance_id=instance_id)
    others = [ClassicClient(shard) for _ in range(classic)]
    consumer.settle()
    settle(shard, consumer, *others)
    assert (shard.kind, shard.state) == ("consumer", "Stable")
    return consumer, others


def settle(shard: MigrationShard, *clients: ClassicClient | ConsumerClient) -> None:
    for _ in range(8):
        for client in clients:
            client.settle()
        shard.driver.advance(100)
        check_nothing_is_held_twice(clients)


# --- the last one leaves or is fenced ----------------------------------------------------------------------


def test_the_group_becomes_classic_when_the_last_one_leaves() -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard)
    epoch = shard.group.epoch
    targets = {each.member_id: shard.group.target_of(each.member_id)[ORDERS] for each in others}
    before = len(shard.driver.records)
    consumer.leave()
    group = shard.classic_group
    assert (group.state_name, group.generation) == ("PreparingRebalance", epoch)
    assert (group.protocol, group.protocol_type) == ("range", "consumer")
    assert set(group.members) == set(targets)
    for member in group.members.values():
        assigned = flat(parse_assignment(member.assignment).partitions)
        assert assigned == {("orders", number) for number in targets[member.member_id]}
        assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (6_000, 10_000)
    assert isinstance(shard.driver.records[-1], ClassicGroupMetadata)
    assert all(each.value is None for each in shard.driver.records[before:-1])


def test_after_a_restart_the_group_is_classic_and_stable() -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard)
    epoch = shard.group.epoch
    consumer.leave()
    after = shard.reloaded()
    assert (after.kind, after.state, after.classic_group.generation) == ("classic", "Stable", epoch)
    assert set(after.classic_group.members) == {each.member_id for each in others}


def test_the_members_that_remain_rebalance_among_themselves() -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard)
    consumer.leave()
    heartbeats = {shard.classic_heartbeat(each.member_id, each.generation) for each in others}
    assert heartbeats <= {ErrorCode.rebalance_in_progress, ErrorCode.illegal_generation}
    settle(shard, *others)
    assert (shard.kind, shard.state) == ("classic", "Stable")
    assert sum(len(each.holds) for each in others) == 6
    shard.check_log()


def test_the_group_becomes_classic_when_the_session_of_the_last_one_ends() -> None:
    shard = MigrationShard(consumer_session_timeout_ms=3_000)
    _, others = mixed(shard)
    for _ in range(8):
        shard.driver.advance(500)
        for each in others:
            each.settle()
    assert (shard.kind, shard.state) == ("classic", "Stable")


def test_the_group_becomes_classic_when_the_last_one_does_not_revoke_in_time() -> None:
    shard = MigrationShard()
    consumer = ConsumerClient(shard, "consumer", timeout=2_000)
    consumer.settle()
    other = ClassicClient(shard)
    for _ in range(10):
        other.settle()
        # It must revoke partitions, and keeps using them.
        if shard.kind == "consumer":
            consumer.beat()
        shard.driver.advance(500)
    assert ("consumer-rebalance", GROUP, "consumer") in shard.driver.fired
    assert (shard.kind, set(shard.classic_group.members)) == ("classic", {other.member_id})


def test_an_administrator_may_remove_the_last_one() -> None:
    shard = MigrationShard()
    mixed(shard, instance_id="i")
    reply = shard.leave_group(("", "i")).result()
    assert [each.error_code for each in reply.members] == [ErrorCode.none]
    assert shard.kind == "classic"


def test_consumer_group_has_no_deadlines_any_more() -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard)
    other = others[0]
    shard.try_join("another")
    assert shard.classic_heartbeat(other.member_id, other.generation) is ErrorCode.rebalance_in_progress
    shard.leave_group(("another", None))
    consumer.leave()
    assert shard.kind == "classic"
    shard.driver.fired.clear()
    shard.driver.advance(60_000)
    assert not any(key[0].startswith("consumer") for key in shard.driver.fired)


def test_sessions_of_the_classic_members_go_on() -> None:
    shard = MigrationShard()
    consumer, _ = mixed(shard)
    consumer.leave()
    shard.driver.advance(5_999)
    assert len(shard.classic_group.members) == 2
    shard.driver.advance(1)
    assert shard.state == "Empty"


def test_subscribers_are_not_those_of_the_consumer_group_any_more() -> None:
    shard = MigrationShard()
    consumer, _ = mixed(shard)
    assert shard.groups.subscribed_to("orders") == {GROUP}
    consumer.leave()
    assert not shard.groups.subscribed_to("orders")
    assert shard.classic_group.is_subscribed_to("orders")


# --- groups that stay --------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["upgrade", "disabled"])
def test_the_policy_may_forbid_it(policy: str) -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard)
    after = MigrationShard(consumer_migration_policy=policy, clock=shard.driver.clock)
    for record in shard.driver.records:
        after.shard.replay(record)
    after.shard.on_loaded()
    consumer.shard = after
    consumer.leave()
    assert after.kind == "consumer"
    assert set(after.group.members) == {each.member_id for each in others}


def test_classic_members_alone_in_a_consumer_group_share_what_is_left_behind() -> None:
    shard = MigrationShard(consumer_migration_policy="upgrade")
    consumer, others = mixed(shard)
    consumer.leave()
    settle(shard, *others)
    assert (shard.kind, shard.state) == ("consumer", "Stable")
    assert sum(len(each.holds) for each in others) == 6


def test_classic_members_alone_in_a_consumer_group_hear_of_new_partitions() -> None:
    shard = MigrationShard(consumer_migration_policy="upgrade")
    consumer, others = mixed(shard)
    consumer.leave()
    settle(shard, *others)
    rebalances = [each.rebalances for each in others]
    shard.set_topics({"orders": 8, "other": 1})
    settle(shard, *others)
    assert sum(len(each.holds) for each in others) == 8
    assert [each.rebalances > before for each, before in zip(others, rebalances, strict=True)] == [True, True]
    rebalances = [each.rebalances for each in others]
    shard.set_topics({"orders": 8, "other": 2})
    settle(shard, *others)
    assert [each.rebalances for each in others] == rebalances


def test_a_group_that_is_too_large_for_a_classic_one_stays() -> None:
    shard = MigrationShard(max_size=1)
    consumer, _ = mixed(shard)
    consumer.leave()
    assert shard.kind == "consumer"


def test_a_group_that_is_empty_then_stays() -> None:
    shard = MigrationShard()
    consumer = ConsumerClient(shard, "consumer")
    consumer.settle()
    consumer.leave()
    assert (shard.kind, shard.state) == ("consumer", "Empty")


def test_a_group_with_another_consumer_member_stays() -> None:
    shard = MigrationShard()
    consumer, _ = mixed(shard)
    shard.join("another")
    consumer.leave()
    assert shard.kind == "consumer"


def test_a_static_member_that_leaves_for_a_while_is_still_one() -> None:
    shard = MigrationShard()
    consumer, _ = mixed(shard, instance_id="i")
    consumer.leave_for_a_while()
    assert shard.kind == "consumer"


# --- failures ----------------------------------------------------------------------------------------------


def test_a_downgrade_that_cannot_be_written_changes_nothing() -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard)
    group, records = shard.group, list(shard.driver.records)
    shard.driver.fail_next(CoordinatorNotAvailable())
    with pytest.raises(CoordinatorNotAvailable):
        consumer.leave()
    assert shard.group is group
    assert (shard.state, shard.driver.records) == ("Stable", records)
    assert shard.heartbeat("consumer", group.epoch).error is None
    assert {shard.classic_heartbeat(each.member_id, each.generation) for each in others} == {ErrorCode.none}
    shard.check_log()
    consumer.leave()
    assert shard.kind == "classic"


def test_a_session_that_ended_is_tried_again_when_it_cannot_be_written() -> None:
    shard = MigrationShard(consumer_session_timeout_ms=2_000)
    mixed(shard)
    shard.driver.fail_next(CoordinatorNotAvailable())
    shard.driver.advance(2_000)
    assert shard.kind == "consumer"
    shard.driver.advance(500)
    assert shard.kind == "classic"


# --- the last one is replaced ------------------------------------------------------------------------------


def test_a_static_member_that_comes_back_with_the_classic_protocol_makes_the_group_classic() -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard, instance_id="i")
    epoch, held = shard.group.epoch, set(consumer.holds)
    consumer.leave_for_a_while()
    back = ClassicClient(shard, instance_id="i")
    back.settle()
    assert (shard.kind, shard.state, shard.classic_group.generation) == ("classic", "Stable", epoch)
    assert (back.holds, back.generation) == (held, epoch)
    # No other member was affected.
    for each in others:
        before = each.rebalances
        each.settle()
        assert each.rebalances == before
    check_nothing_is_held_twice([back, *others])
    shard.check_log()


def test_the_group_rebalances_if_the_subscription_has_changed() -> None:
    shard = MigrationShard({"orders": 6, "payments": 3})
    consumer, others = mixed(shard, instance_id="i")
    consumer.leave_for_a_while()
    joined = shard.join_group(instance_id="i", topics=["payments"]).result()
    assert (joined.error_code, joined.leader) == (ErrorCode.none, "")
    assert (shard.kind, shard.state) == ("classic", "PreparingRebalance")
    assert shard.classic_group.static_members == {"i": joined.member_id}
    assert shard.classic_heartbeat(others[0].member_id, others[0].generation) in (
        ErrorCode.rebalance_in_progress,
        ErrorCode.illegal_generation,
    )


def test_the_group_rebalances_if_it_had_not_come_to_rest() -> None:
    shard = MigrationShard()
    consumer, others = mixed(shard, 1, instance_id="i")
    # A new classic member waits for partitions that the others have to revoke first.
    third = ClassicClient(shard)
    for _ in range(4):
        third.beat()
    assert shard.state == "Reconciling"
    consumer.leave_for_a_while()
    shard.join_group(instance_id="i").result()
    assert (shard.kind, shard.state) == ("classic", "PreparingRebalance")
    settle(shard, *others, third)


def test_the_answer_names_the_protocol_of_the_classic_group() -> None:
    shard = MigrationShard()
    consumer, _ = mixed(shard, instance_id="i")
    consumer.leave_for_a_while()
    protocols = {"roundrobin": subscription(["orders"]), "range": subscription(["orders"])}
    joined = shard.join_group(instance_id="i", protocols=protocols).result()
    assert joined.protocol_name == shard.classic_group.protocol == "range"


def test_a_static_member_that_did_not_say_goodbye_is_replaced_and_fenced() -> None:
    shard = MigrationShard()
    consumer, _ = mixed(shard, instance_id="i")
    shard.join_group(instance_id="i").result()
    assert shard.kind == "classic"
    assert shard.heartbeat("consumer", consumer.epoch, instance_id="i").error is not None


def test_the_policy_may_forbid_the_replacement_to_make_it_classic() -> None:
    shard = MigrationShard(consumer_migration_policy="upgrade")
    consumer, _ = mixed(shard, instance_id="i")
    consumer.leave_for_a_while()
    back = ClassicClient(shard, instance_id="i")
    back.settle()
    assert (shard.kind, shard.state) == ("consumer", "Stable")
    assert len(back.holds) == 2


def test_only_the_replacement_of_a_consumer_member_matters() -> None:
    shard = MigrationShard(consumer_migration_policy="upgrade")
    consumer, _ = mixed(shard, instance_id="i")
    consumer.leave_for_a_while()
    ClassicClient(shard, instance_id="i").settle()
    settings = replace(shard.environment.settings, consumer_migration_policy="bidirectional")
    shard.environment.settings = settings
    ClassicClient(shard, instance_id="i").settle()
    assert shard.kind == "consumer"


def test_a_replacement_that_cannot_be_written_changes_nothing() -> None:
    shard = MigrationShard()
    consumer, _ = mixed(shard, instance_id="i")
    consumer.leave_for_a_while()
    group, records = shard.group, list(shard.driver.records)
    shard.driver.fail_next(CoordinatorNotAvailable())
    assert code(shard.join_group(instance_id="i")) is ErrorCode.coordinator_not_available
    assert shard.group is group
    assert shard.driver.records == records
    shard.check_log()
    assert code(shard.join_group(instance_id="i")) is ErrorCode.none
    assert shard.kind == "classic"
    shard.check_log()
