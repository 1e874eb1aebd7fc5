"""OffsetCommit: validation of commits, and their records."""

from uuid import UUID

import pytest
from tests.unit.group.offsets.offsets_shard import (
    ORDERS,
    PAYMENTS,
    OffsetsShard,
    commit_request,
    context,
    errors_of,
)

from barnabas.base.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    GroupIdNotFound,
    IllegalGeneration,
    StaleMemberEpoch,
    UnknownMemberId,
)
from barnabas.base.ids import ZERO_UUID
from barnabas.group.group import CONSUMER
from barnabas.group.records import CommittedOffset, OffsetCommit
from barnabas.wire import encode_response

NONE = ErrorCode.none
UNKNOWN = ErrorCode.unknown_topic_or_partition


def test_a_standalone_commit_makes_a_simple_group_when_its_record_is_replayed() -> None:
    shard = OffsetsShard()
    outcome = shard.offsets.commit(context(9), commit_request(9, "g", {"orders": {0: 5}}))
    assert shard.groups.find("g") is None
    shard.driver.run(outcome)
    assert shard.groups.get("g").is_empty
    assert shard.offset("g", "orders", 0) == 5


def test_what_is_written_is_the_whole_commit() -> None:
    shard = OffsetsShard()
    body = commit_request(9, "g", {"orders": {0: (5, "note"), 2: (6, None)}}, leader_epoch=3)
    reply = shard.commit(9, body).result()
    now_ms = shard.clock.now_ms()
    assert shard.driver.records == [
        OffsetCommit("g", "orders", 0, CommittedOffset(5, 3, "note", now_ms, -1, ORDERS)),
        OffsetCommit("g", "orders", 2, CommittedOffset(6, 3, "", now_ms, -1, ORDERS)),
    ]
    assert errors_of(reply) == {("orders", 0): NONE, ("orders", 2): NONE}


def test_a_commit_by_topic_id_is_kept_under_the_topics_name() -> None:
    shard = OffsetsShard()
    reply = shard.commit(10, commit_request(10, "g", {ORDERS: {1: 9}})).result()
    assert shard.offset("g", "orders", 1) == 9
    assert [(each.name, each.topic_id) for each in reply.topics] == [("orders", ORDERS)]


def test_versions_before_leader_epochs_commit_none() -> None:
    shard = OffsetsShard()
    shard.commit(5, commit_request(5, "g", {"orders": {0: 5}})).result()
    assert shard.driver.records[0].value.leader_epoch == -1


@pytest.mark.parametrize("version", range(2, 11))
def test_every_version_commits_and_its_answer_can_be_encoded(version: int) -> None:
    shard = OffsetsShard()
    key = ORDERS if version >= 10 else "orders"
    reply = shard.commit(version, commit_request(version, "g", {key: {0: 5}})).result()
    assert shard.offset("g", "orders", 0) == 5
    assert encode_response(8, version, 1, reply)


@pytest.mark.parametrize("version", [2, 4])
def test_a_retention_of_the_clients_own_becomes_an_expire_timestamp(version: int) -> None:
    shard = OffsetsShard()
    shard.commit(version, commit_request(version, "g", {"orders": {0: 5}}, retention_ms=60_000)).result()
    value = shard.driver.records[0].value
    assert value.expire_timestamp_ms == shard.clock.now_ms() + 60_000
    # The record's version that has an expire timestamp has no topic id: live is as it will be loaded.
    assert value.topic_id == ZERO_UUID


def test_the_default_retention_is_the_brokers() -> None:
    shard = OffsetsShard()
    shard.commit(3, commit_request(3, "g", {"orders": {0: 5}}, retention_ms=-1)).result()
    assert shard.driver.records[0].value.expire_timestamp_ms == -1


# --- topics and partitions that are not there ------------------------------------------------------------


def test_unknown_topics_and_partitions_are_errors_of_their_own_and_the_rest_is_committed() -> None:
    shard = OffsetsShard()
    body = commit_request(9, "g", {"orders": {0: 1, 3: 2}, "deleted": {0: 3}, "payments": {0: 4}})
    reply = shard.commit(9, body).result()
    assert errors_of(reply) == {
        ("orders", 0): NONE,
        ("orders", 3): UNKNOWN,
        ("deleted", 0): UNKNOWN,
        ("payments", 0): NONE,
    }
    assert [each.name for each in reply.topics] == ["orders", "deleted", "payments"]
    assert shard.all_offsets() == {("g", "orders", 0): 1, ("g", "payments", 0): 4}


def test_an_unknown_topic_id_is_an_error_of_each_partition() -> None:
    shard = OffsetsShard()
    stranger = UUID(int=99)
    reply = shard.commit(10, commit_request(10, "g", {stranger: {0: 1, 1: 2}, None: {0: 1}})).result()
    unknown = ErrorCode.unknown_topic_id
    assert errors_of(reply) == {(stranger, 0): unknown, (stranger, 1): unknown, (ZERO_UUID, 0): unknown}
    assert encode_response(8, 10, 1, reply)


def test_a_commit_of_nothing_that_exists_does_not_involve_the_group() -> None:
    shard = OffsetsShard()
    group = shard.group("g")
    group.refusal = UnknownMemberId()
    reply = shard.commit(9, commit_request(9, "g", {"deleted": {0: 1}, "orders": {9: 1}})).result()
    assert errors_of(reply) == {("deleted", 0): UNKNOWN, ("orders", 9): UNKNOWN}
    assert group.validated == []


def test_a_refusal_of_the_group_leaves_unknown_partitions_their_own_error() -> None:
    shard = OffsetsShard()
    shard.group("g").refusal = UnknownMemberId()
    reply = shard.commit(9, commit_request(9, "g", {"orders": {0: 1, 9: 1}})).result()
    assert errors_of(reply) == {("orders", 0): ErrorCode.unknown_member_id, ("orders", 9): UNKNOWN}
    assert shard.driver.records == []


def test_an_empty_commit_is_answered_with_nothing() -> None:
    shard = OffsetsShard()
    shard.group("g").refusal = UnknownMemberId()
    assert shard.commit(9, commit_request(9, "g", {})).result().topics == []


# --- metadata ----------------------------------------------------------------------------------------------


def test_metadata_that_is_too_long_is_an_error_of_its_partition() -> None:
    shard = OffsetsShard(offset_metadata_max_bytes=4)
    body = commit_request(9, "g", {"orders": {0: (1, "12345"), 1: (2, "1234")}})
    reply = shard.commit(9, body).result()
    assert errors_of(reply) == {
        ("orders", 0): ErrorCode.offset_metadata_too_large,
        ("orders", 1): NONE,
    }
    assert shard.all_offsets() == {("g", "orders", 1): 2}


def test_metadata_is_measured_in_utf_16_units() -> None:
    shard = OffsetsShard(offset_metadata_max_bytes=4)
    body = commit_request(9, "g", {"orders": {0: (1, "\N{GRINNING FACE}" * 3), 1: (2, "éééé")}})
    reply = shard.commit(9, body).result()
    assert errors_of(reply) == {
        ("orders", 0): ErrorCode.offset_metadata_too_large,
        ("orders", 1): NONE,
    }


# --- members ---------------------------------------------------------------------------------------------


def test_a_generation_of_a_group_that_does_not_exist_is_illegal() -> None:
    shard = OffsetsShard()
    old = shard.commit(8, commit_request(8, "g", {"orders": {0: 1}}, member_id="m", generation=1))
    new = shard.commit(9, commit_request(9, "g", {"orders": {0: 1}}, member_id="m", generation=1))
    assert isinstance(old.error, IllegalGeneration)
    assert isinstance(new.error, GroupIdNotFound)
    assert shard.groups.find("g") is None


def test_the_group_validates_the_member() -> None:
    shard = OffsetsShard()
    group = shard.group("g", state_name="Stable")
    body = commit_request(9, "g", {"orders": {0: 1}}, member_id="m", generation=4, instance_id="instance")
    shard.commit(9, body).result()
    assert group.validated == [("m", "instance", 4, 9, False)]


@pytest.mark.parametrize("error", [UnknownMemberId(), CoordinatorNotAvailable()])
def test_a_refusal_of_the_group_fails_the_commit(error: UnknownMemberId) -> None:
    shard = OffsetsShard()
    shard.group("g").refusal = error
    assert shard.commit(9, commit_request(9, "g", {"orders": {0: 1}})).error is error
    assert shard.driver.records == []
    assert shard.renewed == []


def test_one_partition_of_a_stale_epoch_fails_the_whole_commit() -> None:
    shard = OffsetsShard()
    shard.group("g", CONSUMER, "Stable").partition_refusals = {("orders", 1): StaleMemberEpoch()}
    body = commit_request(9, "g", {"orders": {0: 1, 1: 1}}, member_id="m", generation=3)
    assert isinstance(shard.commit(9, body).error, StaleMemberEpoch)
    assert shard.driver.records == []


def test_a_commit_of_a_classic_member_renews_its_session() -> None:
    shard = OffsetsShard()
    shard.group("classic", state_name="Stable")
    shard.group("consumer", CONSUMER, "Stable")
    for group_id in ("classic", "consumer"):
        body = commit_request(9, group_id, {"orders": {0: 1}}, member_id="m", generation=1)
        shard.commit(9, body).result()
    assert shard.renewed == [("classic", "m")]


def test_a_commit_that_cannot_be_written_changes_nothing() -> None:
    shard = OffsetsShard()
    shard.driver.fail_next(CoordinatorNotAvailable())
    assert isinstance(
        shard.commit(9, commit_request(9, "g", {"orders": {0: 5}})).error, CoordinatorNotAvailable
    )
    assert shard.groups.find("g") is None
    assert shard.offset("g", "orders", 0) == -1


def test_the_answer_to_a_mixed_commit_lists_a_topic_once() -> None:
    shard = OffsetsShard()
    body = commit_request(10, "g", {PAYMENTS: {0: 1, 1: 1}, ORDERS: {0: 1}})
    reply = shard.commit(10, body).result()
    assert [each.topic_id for each in reply.topics] == [PAYMENTS, ORDERS]
    assert [index for index, _ in reply.topics[0].partitions] == [1, 0]
