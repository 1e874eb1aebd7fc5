"""A member with the consumer protocol joins a classic group."""

import pytest
from tests.unit.group.consumer.consumer_shard import GROUP, partitions_of, topic_id
from tests.unit.group.migration.migration_clients import (
    ClassicClient,
)
from tests.unit.group.migration.migration_shard import (
    MigrationShard,
    code,
    subscription,
)

from barnabas.base.deferred import Deferred
from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode, GroupIdNotFound
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.migration.consumer_protocol import serialize_assignment
from barnabas.group.records import ClassicGroupMetadata
from barnabas.wire import Reply

ORDERS = topic_id("orders")
USER_DATA = b"\x00\x00\x00\x03abc"


def stable(shard: MigrationShard, count: int = 2, *, is_cooperative: bool = False) -> list[ClassicClient]:
    clients = [ClassicClient(shard, is_cooperative=is_cooperative) for _ in range(count)]
    for _ in range(10):
        for client in clients:
            client.settle()
        shard.driver.advance(100)
    assert (shard.kind, shard.state) == ("classic", "Stable")
    return clients


def one_member(
    shard: MigrationShard, assignment: bytes, protocol: str = "range", protocol_type: str = "consumer"
) -> str:
    """A stable classic group whose only member has this assignment."""
    protocols = {protocol: subscription(["orders"])}
    member_id: str = shard.join_group(protocols=protocols, protocol_type=protocol_type).result().member_id
    joined = shard.join_group(member_id, protocols=protocols, protocol_type=protocol_type)
    shard.driver.advance(1)
    shard.sync_group(
        member_id,
        joined.result().generation_id,
        {member_id: assignment},
        protocol=protocol,
        protocol_type=protocol_type,
    ).result()
    return member_id


def refusal(answer: Deferred[Reply]) -> str:
    assert isinstance(answer.error, GroupIdNotFound)
    return answer.error.message


# --- groups that can be upgraded ---------------------------------------------------------------------------


def test_the_group_keeps_its_generation_and_its_assignments() -> None:
    shard = MigrationShard()
    first, second = stable(shard)
    generation = shard.classic_group.generation
    held = {client.member_id: frozenset(number for _, number in client.holds) for client in (first, second)}
    shard.join("new", topics=["nothing"])
    assert shard.group.epoch == generation + 1
    for client in (first, second):
        member = shard.group.member(client.member_id)
        assert member.uses_classic_protocol
        assert (member.epoch, member.previous_epoch) == (generation, generation)
        assert member.assigned == {ORDERS: dict.fromkeys(held[client.member_id], generation)}
        assert member.topic_names == ("orders",)
        assert member.value.rebalance_timeout_ms == 10_000
    shard.check_log()


def test_the_classic_group_goes_and_the_consumer_group_comes_in_one_batch() -> None:
    shard = MigrationShard()
    stable(shard)
    before = len(shard.driver.records)
    shard.join("new")
    assert shard.driver.records[before] == ClassicGroupMetadata(GROUP, None)
    assert not any(isinstance(each, ClassicGroupMetadata) for each in shard.driver.records[before + 1 :])


def test_an_empty_group_is_replaced_whatever_the_policy_and_the_protocol_type() -> None:
    shard = MigrationShard(consumer_migration_policy="disabled")
    member_id = one_member(shard, b"", protocol_type="connect")
    shard.leave_group((member_id, None))
    assert (shard.kind, shard.state) == ("classic", "Empty")
    assert shard.join("new").member_epoch == 2
    assert shard.kind == "consumer"
    shard.check_log()


def test_members_that_wait_to_join_must_rejoin() -> None:
    shard = MigrationShard()
    first, second = stable(shard)
    parked = shard.join_group(first.member_id, owned=[("orders", 0)])
    assert not parked.is_done
    shard.join("new")
    reply = parked.result()
    assert (reply.error_code, reply.member_id) == (ErrorCode.rebalance_in_progress, first.member_id)
    assert shard.classic_heartbeat(second.member_id, second.generation) is ErrorCode.rebalance_in_progress


def test_members_that_wait_to_sync_must_rejoin() -> None:
    shard = MigrationShard()
    first, second = stable(shard)
    joins = [shard.join_group(each.member_id, owned=[("orders", 0)]) for each in (first, second)]
    follower = next(each.result() for each in joins if each.result().leader != each.result().member_id)
    parked = shard.sync_group(follower.member_id, follower.generation_id)
    assert not parked.is_done
    shard.join("new")
    assert code(parked) is ErrorCode.rebalance_in_progress


def test_a_group_in_its_first_rebalance_is_upgraded() -> None:
    shard = MigrationShard(initial_rebalance_delay_ms=3_000)
    member_id = shard.join_group().result().member_id
    parked = shard.join_group(member_id)
    assert shard.state == "PreparingRebalance"
    shard.join("new")
    assert code(parked) is ErrorCode.rebalance_in_progress
    assert shard.group.member(member_id).epoch == 0
    assert code(shard.join_group(member_id)) is ErrorCode.none
    shard.check_log()


def test_cooperative_members_keep_what_they_hold_when_a_rebalance_was_cut_short() -> None:
    shard = MigrationShard()
    first, second = stable(shard, is_cooperative=True)
    for client in (first, second):
        client.rejoin()
        client.beat()
    assert shard.state == "CompletingRebalance"
    # A third member cuts the rebalance short before any member has its assignment.
    third = ClassicClient(shard, is_cooperative=True)
    for _ in range(3):
        third.beat()
    assert {member.assignment for member in shard.classic_group.members.values()} == {b""}
    shard.join("new")
    for client in (first, second):
        assigned = shard.group.member(client.member_id).assigned
        assert {("orders", number) for number in assigned[ORDERS]} == client.holds
    shard.check_log()


def test_a_static_member_is_replaced_at_once_by_itself_with_the_other_protocol() -> None:
    shard = MigrationShard()
    joined = [shard.join_group(instance_id=each) for each in ("i1", "i2")]
    shard.driver.advance(1)
    first, second = (each.result() for each in joined)
    assignments = {
        first.member_id: serialize_assignment({"orders": [0, 1, 2]}, 3),
        second.member_id: serialize_assignment({"orders": [3, 4, 5]}, 3),
    }
    shard.sync_group(first.member_id, 1, assignments, instance_id="i1").result()
    reply = shard.join("new", instance_id="i1")
    assert shard.partitions(reply) == partitions_of("orders", 0, 1, 2)
    assert set(shard.group.members) == {"new", second.member_id}
    assert not shard.group.member("new").uses_classic_protocol
    heartbeat = shard.classic_heartbeat(first.member_id, 1, instance_id="i1")
    assert heartbeat is ErrorCode.fenced_instance_id
    shard.check_log()


def test_a_group_that_is_rebalancing_gets_a_new_target_even_without_a_new_member() -> None:
    shard = MigrationShard(initial_rebalance_delay_ms=3_000)
    parked = shard.join_group(instance_id="i1")
    reply = shard.join("new", instance_id="i1")
    assert code(parked) is ErrorCode.rebalance_in_progress
    assert reply.member_epoch == shard.group.epoch == 1
    assert shard.partitions(reply) == partitions_of("orders", *range(6))
    shard.check_log()


def test_deleted_topics_have_no_owner() -> None:
    shard = MigrationShard()
    one_member(shard, serialize_assignment({"orders": [0], "deleted": [0]}, 3))
    shard.join("new", topics=["nothing"])
    (owner,) = (member for member in shard.group.members.values() if member.uses_classic_protocol)
    assert owner.assigned == {ORDERS: {0: 1}}


@pytest.mark.parametrize("protocol", ["cooperative-sticky", "range"])
def test_user_data_that_is_not_read_does_not_prevent_the_upgrade(protocol: str) -> None:
    shard = MigrationShard()
    one_member(shard, serialize_assignment({"orders": [0]}, 3)[:-4] + USER_DATA, protocol)
    shard.join("new")
    assert shard.kind == "consumer"


# --- deadlines ---------------------------------------------------------------------------------------------


def test_sessions_of_classic_members_go_on_with_their_own_timeouts() -> None:
    shard = MigrationShard(consumer_session_timeout_ms=45_000)
    stable(shard)
    shard.driver.fired.clear()
    shard.join("new")
    shard.driver.advance(5_999)
    assert len(shard.group.members) == 3
    shard.driver.advance(1)
    assert set(shard.group.members) == {"new"}
    assert {key[0] for key in shard.driver.fired} == {"consumer-session"}


def test_no_deadline_of_the_classic_group_is_left() -> None:
    shard = MigrationShard()
    first, _ = stable(shard)
    shard.join_group()
    shard.join_group(first.member_id)
    shard.driver.fired.clear()
    shard.join("new")
    shard.driver.advance(60_000)
    assert shard.driver.fired
    assert not any(key[0].startswith("classic") for key in shard.driver.fired)


# --- failures ----------------------------------------------------------------------------------------------


def test_an_upgrade_that_cannot_be_written_changes_nothing() -> None:
    shard = MigrationShard()
    first, second = stable(shard)
    parked = shard.join_group(first.member_id, owned=[("orders", 0)])
    group, state, records = shard.classic_group, shard.state, list(shard.driver.records)
    shard.driver.fail_next(CoordinatorNotAvailable())
    assert isinstance(shard.try_join("new").error, CoordinatorNotAvailable)
    assert not parked.is_done
    assert shard.classic_group is group
    assert (shard.state, shard.driver.records) == (state, records)
    # The rebalance in progress ends as usual.
    shard.join_group(second.member_id)
    assert code(parked) is ErrorCode.none


def test_sessions_of_the_classic_group_survive_an_upgrade_that_failed() -> None:
    shard = MigrationShard()
    stable(shard)
    shard.driver.fail_next(CoordinatorNotAvailable())
    shard.try_join("new")
    shard.driver.advance(6_000)
    assert (shard.kind, len(shard.classic_group.members)) == ("classic", 0)


# --- groups that cannot ------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["downgrade", "disabled"])
def test_the_policy_may_forbid_it(policy: str) -> None:
    shard = MigrationShard(consumer_migration_policy=policy)
    stable(shard)
    assert "policy" in refusal(shard.try_join("new"))
    assert shard.state == "Stable"


@pytest.mark.parametrize("policy", ["upgrade", "bidirectional"])
def test_the_policy_may_allow_it(policy: str) -> None:
    shard = MigrationShard(consumer_migration_policy=policy)
    stable(shard)
    shard.join("new")
    assert isinstance(shard.groups.get(GROUP), ConsumerGroup)


def test_members_that_are_not_consumers_are_left_alone() -> None:
    shard = MigrationShard()
    one_member(shard, b"whatever", protocol_type="connect")
    assert "connect" in refusal(shard.try_join("new"))


def test_a_group_that_is_too_large_for_the_consumer_protocol_stays_classic() -> None:
    shard = MigrationShard(consumer_max_size=2)
    stable(shard, 3)
    assert "more than 2" in refusal(shard.try_join("new"))


def test_the_new_member_counts_for_the_size_limit() -> None:
    shard = MigrationShard(consumer_max_size=2)
    stable(shard, 2)
    answer = shard.try_join("new")
    assert answer.error is not None
    assert answer.error.code is ErrorCode.group_max_size_reached
    assert shard.kind == "classic"


def test_an_assignment_that_is_not_one_hinders() -> None:
    shard = MigrationShard()
    one_member(shard, b"\x00\x01\x00")
    assert "malformed" in refusal(shard.try_join("new"))


def test_a_subscription_that_is_not_one_hinders() -> None:
    shard = MigrationShard()
    shard.join_group(protocols={"range": b"\x00\x01\x00"}, version=3)
    shard.driver.advance(1)
    assert "malformed" in refusal(shard.try_join("new"))


def test_user_data_of_an_assignor_of_their_own_hinders() -> None:
    shard = MigrationShard()
    one_member(shard, serialize_assignment({"orders": [0]}, 3)[:-4] + USER_DATA, "mine")
    assert "user data" in refusal(shard.try_join("new"))


def test_a_partition_with_two_owners_hinders() -> None:
    shard = MigrationShard()
    joined = [shard.join_group(instance_id=each) for each in ("i1", "i2")]
    shard.driver.advance(1)
    ids = [each.result().member_id for each in joined]
    both = serialize_assignment({"orders": [0]}, 3)
    shard.sync_group(ids[0], 1, dict.fromkeys(ids, both), instance_id="i1").result()
    assert "two of its members" in refusal(shard.try_join("new"))


def test_only_a_member_that_joins_upgrades_a_group() -> None:
    shard = MigrationShard()
    stable(shard)
    assert isinstance(shard.heartbeat("new", 1).error, GroupIdNotFound)
    assert isinstance(shard.heartbeat("new", -1).error, GroupIdNotFound)
    assert shard.kind == "classic"
