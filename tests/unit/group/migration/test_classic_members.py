"""Members with the classic protocol inside a consumer group."""

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
from barnabas.wire import Reply

ORDERS = topic_id("orders")


@pytest.fixture
def shard() -> MigrationShard:
    """A consumer group with one member of the consumer protocol, which owns everything."""
    shard = MigrationShard()
    ConsumerClient(shard, "consumer").settle()
    assert shard.kind == "consumer"
    return shard


def joined(shard: MigrationShard, **join: str) -> Reply:
    member_id = shard.join_group(**join).result().member_id  # type: ignore[arg-type]
    return shard.join_group(member_id, **join).result()  # type: ignore[arg-type]


def assigned(reply: Reply) -> frozenset[tuple[str, int]]:
    return flat(parse_assignment(reply.assignment).partitions)


# --- joining -----------------------------------------------------------------------------------------------


def test_a_new_member_needs_an_id_first(shard: MigrationShard) -> None:
    reply = shard.join_group().result()
    assert reply.error_code is ErrorCode.member_id_required
    assert reply.member_id not in shard.group.members
    assert code(shard.join_group(reply.member_id)) is ErrorCode.none
    assert shard.group.member(reply.member_id).uses_classic_protocol


def test_an_old_client_or_a_static_member_needs_none(shard: MigrationShard) -> None:
    old = shard.join_group(version=3).result()
    static = shard.join_group(instance_id="i").result()
    assert {old.error_code, static.error_code} == {ErrorCode.none}
    assert set(shard.group.members) == {"consumer", old.member_id, static.member_id}


def test_the_generation_is_the_member_epoch_and_no_member_leads(shard: MigrationShard) -> None:
    reply = joined(shard)
    assert reply.generation_id == shard.group.member(reply.member_id).epoch == shard.group.epoch
    assert (reply.protocol_type, reply.protocol_name) == ("consumer", "range")
    assert (reply.leader, reply.members, reply.skip_assignment) == ("", (), False)


def test_a_member_is_written_down_with_what_it_joined_with(shard: MigrationShard) -> None:
    protocols = {"range": subscription(["orders", "a"]), "mine": b"anything"}
    reply = shard.join_group(protocols=protocols, version=3, session_ms=7_000, rebalance_ms=9_000).result()
    value = shard.group.member(reply.member_id).value
    assert value.classic is not None
    assert value.classic.protocols == tuple(protocols.items())
    assert value.classic.session_timeout_ms == 7_000
    assert value.rebalance_timeout_ms == 9_000
    assert value.subscribed_topic_names == ("a", "orders")
    assert (value.client_id, value.client_host) == ("classic", "/127.0.0.1")
    shard.check_log()


def test_a_protocol_that_the_classic_members_do_not_share_is_refused(shard: MigrationShard) -> None:
    joined(shard)
    other = {"roundrobin": subscription(["orders"])}
    assert code(shard.join_group(protocols=other)) is ErrorCode.inconsistent_group_protocol


def test_the_first_classic_member_may_bring_any_protocol(shard: MigrationShard) -> None:
    assert code(shard.join_group(protocols={"mine": subscription(["orders"])}, version=3)) is ErrorCode.none


def test_members_that_are_not_consumers_are_refused(shard: MigrationShard) -> None:
    assert code(shard.join_group(protocol_type="connect")) is ErrorCode.inconsistent_group_protocol


def test_no_protocol_at_all_is_refused(shard: MigrationShard) -> None:
    assert code(shard.join_group(protocols={})) is ErrorCode.inconsistent_group_protocol


def test_a_subscription_that_is_not_one_is_an_error_of_ours(shard: MigrationShard) -> None:
    answer = shard.join_group(protocols={"range": b"\x00"}, version=3)
    assert code(answer) is ErrorCode.unknown_server_error


def test_a_full_group_takes_no_member() -> None:
    shard = MigrationShard(consumer_max_size=1)
    shard.join("consumer")
    assert code(shard.join_group()) is ErrorCode.group_max_size_reached


def test_the_session_timeout_must_be_within_its_bounds(shard: MigrationShard) -> None:
    assert code(shard.join_group(session_ms=1)) is ErrorCode.invalid_session_timeout


def test_the_policy_may_keep_classic_members_out() -> None:
    shard = MigrationShard(consumer_migration_policy="disabled")
    shard.join("consumer")
    assert code(shard.join_group()) is ErrorCode.inconsistent_group_protocol


def test_an_empty_consumer_group_becomes_a_classic_one_whatever_the_policy() -> None:
    shard = MigrationShard(consumer_migration_policy="disabled")
    client = ConsumerClient(shard, "consumer")
    client.settle()
    client.leave()
    assert shard.join_group().result().error_code is ErrorCode.member_id_required
    assert shard.kind == "classic"
    shard.check_log()


def test_a_static_member_rejoins(shard: MigrationShard) -> None:
    first = shard.join_group(instance_id="i").result()
    second = shard.join_group(instance_id="i").result()
    assert first.member_id != second.member_id
    assert shard.group.static_members == {"i": second.member_id}
    heartbeat = shard.classic_heartbeat(first.member_id, first.generation_id, instance_id="i")
    assert heartbeat is ErrorCode.fenced_instance_id
    fenced = shard.join_group(first.member_id, instance_id="i")
    assert code(fenced) is ErrorCode.fenced_instance_id
    assert code(shard.join_group("unknown", instance_id="other")) is ErrorCode.unknown_member_id
    shard.check_log()


def test_a_join_that_cannot_be_written_changes_nothing(shard: MigrationShard) -> None:
    member_id = shard.join_group().result().member_id
    records = list(shard.driver.records)
    shard.driver.fail_next(CoordinatorNotAvailable())
    assert code(shard.join_group(member_id)) is ErrorCode.coordinator_not_available
    assert set(shard.group.members) == {"consumer"}
    assert shard.driver.records == records
    shard.driver.advance(60_000)
    assert not any(key[2] == member_id for key in shard.driver.fired)


# --- reconciling -------------------------------------------------------------------------------------------


def test_an_eager_member_gets_what_others_let_go(shard: MigrationShard) -> None:
    consumer = ConsumerClient(shard, "consumer")
    consumer.settle()
    classic = ClassicClient(shard)
    for _ in range(6):
        classic.settle()
        consumer.beat()
        check_nothing_is_held_twice([classic, consumer])
        consumer.reconcile()
    assert (len(classic.holds), len(consumer.holds)) == (3, 3)
    assert shard.state == "Stable"


def test_a_member_that_waits_for_partitions_must_rejoin_when_all_of_them_are_free(
    shard: MigrationShard,
) -> None:
    consumer = ConsumerClient(shard, "consumer")
    consumer.settle()
    reply = joined(shard)
    assert assigned(shard.sync_group(reply.member_id, reply.generation_id).result()) == frozenset()
    assert shard.classic_heartbeat(reply.member_id, reply.generation_id) is ErrorCode.none
    consumer.beat()
    assert shard.classic_heartbeat(reply.member_id, reply.generation_id) is ErrorCode.none
    consumer.reconcile()
    consumer.beat()
    heartbeat = shard.classic_heartbeat(reply.member_id, reply.generation_id)
    assert heartbeat is ErrorCode.rebalance_in_progress
    again = shard.join_group(reply.member_id).result()
    assert again.generation_id == reply.generation_id
    assert len(assigned(shard.sync_group(again.member_id, again.generation_id).result())) == 3


def test_a_cooperative_member_gives_up_before_others_take(shard: MigrationShard) -> None:
    consumer = ConsumerClient(shard, "consumer")
    consumer.settle()
    classic: list[ClassicClient] = []
    for _ in range(2):
        classic.append(ClassicClient(shard, is_cooperative=True))
        for _ in range(20):
            for client in classic:
                client.beat()
                check_nothing_is_held_twice([*classic, consumer])
            consumer.beat()
            check_nothing_is_held_twice([*classic, consumer])
            consumer.reconcile()
    assert [len(consumer.holds), *(len(each.holds) for each in classic)] == [2, 2, 2]


def test_a_member_that_must_give_up_stays_at_its_epoch_until_it_has() -> None:
    shard = MigrationShard(consumer_migration_policy="upgrade")
    consumer = ConsumerClient(shard, "consumer")
    consumer.settle()
    reply = joined(shard)
    consumer.leave()
    everything = shard.join_group(reply.member_id).result()
    held = assigned(shard.sync_group(reply.member_id, everything.generation_id).result())
    assert len(held) == 6
    shard.join("another")
    generation = everything.generation_id
    assert shard.classic_heartbeat(reply.member_id, generation) is ErrorCode.rebalance_in_progress
    gives_up = shard.join_group(reply.member_id, owned=held).result()
    assert gives_up.generation_id == generation
    kept = assigned(shard.sync_group(reply.member_id, generation).result())
    assert len(kept) == 3
    assert shard.classic_heartbeat(reply.member_id, generation) is ErrorCode.rebalance_in_progress
    has_given_up = shard.join_group(reply.member_id, owned=kept).result()
    assert has_given_up.generation_id == shard.group.epoch > generation
    assert shard.classic_heartbeat(reply.member_id, has_given_up.generation_id) is ErrorCode.none


def test_a_member_that_does_not_want_a_topic_any_more_gives_it_up_before_the_next_target() -> None:
    shard = MigrationShard({"orders": 2, "payments": 2}, consumer_assignment_interval_ms=20_000)
    shard.join("consumer", topics=["nothing"])
    shard.driver.advance(20_000)
    reply = shard.join_group(topics=["orders", "payments"], version=3).result()
    held = assigned(shard.sync_group(reply.member_id, reply.generation_id).result())
    assert len(held) == 4
    changed = shard.join_group(reply.member_id, topics=["orders"], owned=held).result()
    assert changed.generation_id == reply.generation_id == shard.group.assignment_epoch
    kept = assigned(shard.sync_group(reply.member_id, changed.generation_id).result())
    assert {topic for topic, _ in kept} == {"orders"}
    heartbeat = shard.classic_heartbeat(reply.member_id, changed.generation_id)
    assert heartbeat is ErrorCode.rebalance_in_progress
    shard.join_group(reply.member_id, topics=["orders"], owned=kept).result()
    assert not shard.group.member(reply.member_id).pending_revocation
    shard.check_log()


# --- syncing and heartbeats --------------------------------------------------------------------------------


def test_a_sync_echoes_the_protocol(shard: MigrationShard) -> None:
    reply = joined(shard)
    synced = shard.sync_group(reply.member_id, reply.generation_id).result()
    assert (synced.protocol_type, synced.protocol_name) == ("consumer", "range")
    old = shard.sync_group(
        reply.member_id, reply.generation_id, protocol_type=None, protocol=None, version=4
    ).result()
    assert (old.error_code, old.protocol_type, old.protocol_name) == (ErrorCode.none, None, None)


@pytest.mark.parametrize(
    ("protocol_type", "protocol"), [("connect", "range"), ("consumer", "roundrobin"), (None, None)]
)
def test_a_sync_with_another_protocol_is_refused(
    shard: MigrationShard, protocol_type: str | None, protocol: str | None
) -> None:
    reply = joined(shard)
    answer = shard.sync_group(
        reply.member_id, reply.generation_id, protocol_type=protocol_type, protocol=protocol
    )
    assert code(answer) is ErrorCode.inconsistent_group_protocol


def test_a_sync_is_refused_when_the_target_has_moved_on(shard: MigrationShard) -> None:
    reply = joined(shard)
    shard.join("another")
    answer = shard.sync_group(reply.member_id, reply.generation_id)
    assert code(answer) is ErrorCode.rebalance_in_progress


def test_another_generation_is_illegal(shard: MigrationShard) -> None:
    reply = joined(shard)
    for generation in (reply.generation_id - 1, reply.generation_id + 1):
        assert shard.classic_heartbeat(reply.member_id, generation) is ErrorCode.illegal_generation
        assert code(shard.sync_group(reply.member_id, generation)) is ErrorCode.illegal_generation


def test_member_that_is_not_classic_is_unknown(shard: MigrationShard) -> None:
    epoch = shard.group.member("consumer").epoch
    for member_id in ("consumer", "unknown"):
        assert shard.classic_heartbeat(member_id, epoch) is ErrorCode.unknown_member_id
        assert code(shard.sync_group(member_id, epoch)) is ErrorCode.unknown_member_id


# --- deadlines ---------------------------------------------------------------------------------------------


def test_a_member_that_falls_silent_is_fenced_after_its_own_session_timeout(shard: MigrationShard) -> None:
    reply = shard.join_group(version=3, session_ms=8_000).result()
    shard.sync_group(reply.member_id, reply.generation_id).result()
    shard.driver.advance(5_000)
    shard.classic_heartbeat(reply.member_id, reply.generation_id)
    shard.driver.advance(7_999)
    assert reply.member_id in shard.group.members
    shard.driver.advance(1)
    assert reply.member_id not in shard.group.members
    shard.check_log()


def keep_alive(shard: MigrationShard, reply: Reply, ms: int) -> None:
    for _ in range(ms // 1_000):
        shard.driver.advance(1_000)
        shard.classic_heartbeat(reply.member_id, reply.generation_id)
        shard.heartbeat("consumer", shard.group.member("consumer").epoch)


def test_a_member_that_does_not_sync_is_fenced(shard: MigrationShard) -> None:
    reply = shard.join_group(version=3, rebalance_ms=10_000).result()
    keep_alive(shard, reply, 9_000)
    assert reply.member_id in shard.group.members
    shard.driver.advance(1_000)
    assert ("consumer-sync", GROUP, reply.member_id) in shard.driver.fired
    assert reply.member_id not in shard.group.members


def test_a_member_that_does_not_rejoin_in_time_is_fenced(shard: MigrationShard) -> None:
    reply = shard.join_group(version=3, rebalance_ms=10_000).result()
    shard.sync_group(reply.member_id, reply.generation_id).result()
    shard.join("another")
    heartbeat = shard.classic_heartbeat(reply.member_id, reply.generation_id)
    assert heartbeat is ErrorCode.rebalance_in_progress
    keep_alive(shard, reply, 9_000)
    assert reply.member_id in shard.group.members
    shard.driver.advance(1_000)
    assert ("consumer-join", GROUP, reply.member_id) in shard.driver.fired
    assert reply.member_id not in shard.group.members


def test_a_join_that_cannot_be_written_does_not_count(shard: MigrationShard) -> None:
    reply = shard.join_group(version=3, rebalance_ms=10_000).result()
    shard.sync_group(reply.member_id, reply.generation_id).result()
    shard.join("another")
    shard.classic_heartbeat(reply.member_id, reply.generation_id)
    shard.driver.fail_next(CoordinatorNotAvailable())
    shard.join_group(reply.member_id, rebalance_ms=10_000)
    keep_alive(shard, reply, 9_000)
    shard.driver.advance(1_000)
    assert ("consumer-join", GROUP, reply.member_id) in shard.driver.fired


def test_a_member_that_joins_and_syncs_in_time_is_left_alone(shard: MigrationShard) -> None:
    reply = shard.join_group(version=3, rebalance_ms=10_000).result()
    shard.sync_group(reply.member_id, reply.generation_id).result()
    shard.join("another")
    shard.classic_heartbeat(reply.member_id, reply.generation_id)
    again = shard.join_group(reply.member_id, rebalance_ms=10_000).result()
    shard.sync_group(again.member_id, again.generation_id).result()
    keep_alive(shard, again, 12_000)
    assert again.member_id in shard.group.members


# --- leaving -----------------------------------------------------------------------------------------------


def test_members_leave_each_with_an_answer_of_its_own(shard: MigrationShard) -> None:
    dynamic, static = joined(shard), shard.join_group(instance_id="i").result()
    epoch = shard.group.epoch
    reply = shard.leave_group(
        (dynamic.member_id, None), ("", "i"), ("unknown", None), ("", "nothing"), (dynamic.member_id, None)
    ).result()
    assert [each.error_code for each in reply.members] == [
        ErrorCode.none,
        ErrorCode.none,
        ErrorCode.unknown_member_id,
        ErrorCode.unknown_member_id,
        ErrorCode.none,
    ]
    assert static.member_id not in shard.group.members
    assert (set(shard.group.members), shard.group.epoch) == ({"consumer"}, epoch + 1)
    shard.check_log()


def test_a_static_member_that_was_replaced_cannot_leave(shard: MigrationShard) -> None:
    first = shard.join_group(instance_id="i").result()
    shard.join_group(instance_id="i").result()
    reply = shard.leave_group((first.member_id, "i")).result()
    assert [each.error_code for each in reply.members] == [ErrorCode.fenced_instance_id]
    assert len(shard.group.members) == 2


def test_leave_of_unknown_members_writes_nothing(shard: MigrationShard) -> None:
    records = len(shard.driver.records)
    shard.leave_group(("unknown", None)).result()
    assert len(shard.driver.records) == records


def test_a_leave_that_cannot_be_written_leaves_the_deadlines_as_they_are(shard: MigrationShard) -> None:
    reply = joined(shard)
    shard.driver.fail_next(CoordinatorNotAvailable())
    answer = shard.leave_group((reply.member_id, None))
    assert code(answer) is ErrorCode.coordinator_not_available
    shard.driver.advance(5_999)
    assert reply.member_id in shard.group.members
    shard.driver.advance(1)
    assert set(shard.group.members) == {"consumer"}
