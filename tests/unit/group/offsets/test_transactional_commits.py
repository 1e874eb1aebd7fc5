"""TxnOffsetCommit: validation of transactional commits, and their records."""

import pytest
from tests.unit.group.offsets.offsets_shard import (
    OffsetsShard,
    commit_request,
    context,
    delete_request,
    errors_of,
    fetch_request,
    transactional_request,
)

from barnabas.base.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    FencedInstanceId,
    IllegalGeneration,
    KafkaError,
    StaleMemberEpoch,
    UnknownMemberId,
    UnknownServerError,
)
from barnabas.group.deletion import delete_groups
from barnabas.group.group import CONSUMER
from barnabas.group.records import CommittedOffset, OffsetCommit
from barnabas.group.shard import GroupShard
from barnabas.runtime.end_marker import EndMarker

NONE = ErrorCode.none
UNKNOWN = ErrorCode.unknown_topic_or_partition


def _stable(shard: OffsetsShard, group_id: str = "g", partition: int = 0) -> tuple[int, ErrorCode]:
    """The offset or error of a partition of `orders` for a fetch that requires stable offsets."""
    reply = shard.fetch(9, fetch_request(9, group_id, {"orders": [partition]}), require_stable=True)
    (found,) = reply.topics[0].partitions
    return found.committed_offset, found.error_code


# --- what is written ----------------------------------------------------------------------------------------


def test_the_records_are_a_batch_of_the_producer_without_topic_ids() -> None:
    shard = OffsetsShard()
    body = transactional_request(
        "g", {"orders": {0: (5, "note"), 2: (6, None)}}, producer=(40, 3), leader_epoch=7
    )
    outcome = shard.offsets.commit_transactional(context(5), body)
    now_ms = shard.clock.now_ms()
    assert outcome.producer == (40, 3)
    assert outcome.records == [
        OffsetCommit("g", "orders", 0, CommittedOffset(5, 7, "note", now_ms)),
        OffsetCommit("g", "orders", 2, CommittedOffset(6, 7, "", now_ms)),
    ]
    assert errors_of(shard.driver.run(outcome).result()) == {("orders", 0): NONE, ("orders", 2): NONE}


def test_the_offset_counts_when_the_transaction_is_committed() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 3)
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5}})).result()
    assert shard.offset("g", "orders", 0) == 3
    assert _stable(shard) == (-1, ErrorCode.unstable_offset_commit)
    assert _stable(shard, partition=1) == (-1, NONE)
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.offset("g", "orders", 0) == 5
    assert _stable(shard) == (5, NONE)


def test_an_aborted_commit_leaves_the_last_one() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 3)
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5}})).result()
    shard.offsets.replay_end_marker(40, commit=False)
    assert _stable(shard) == (3, NONE)


def test_of_two_commits_in_a_transaction_the_second_counts() -> None:
    shard = OffsetsShard()
    for offset in (9, 5):
        shard.commit_transactional(transactional_request("g", {"orders": {0: offset}})).result()
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.offset("g", "orders", 0) == 5


def test_a_partition_is_unstable_until_the_last_of_its_transactions_has_ended() -> None:
    shard = OffsetsShard()
    for producer_id, offset in ((40, 5), (41, 6)):
        body = transactional_request("g", {"orders": {0: offset}}, producer=(producer_id, 0))
        shard.commit_transactional(body).result()
    shard.offsets.replay_end_marker(41, commit=True)
    assert _stable(shard) == (-1, ErrorCode.unstable_offset_commit)
    assert shard.offset("g", "orders", 0) == 6
    shard.offsets.replay_end_marker(40, commit=True)
    assert _stable(shard) == (6, NONE)


def test_a_plain_commit_overtakes_one_in_a_transaction() -> None:
    shard = OffsetsShard()
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5}})).result()
    shard.commit(9, commit_request(9, "g", {"orders": {0: 8}})).result()
    assert _stable(shard) == (-1, ErrorCode.unstable_offset_commit)
    shard.offsets.replay_end_marker(40, commit=True)
    assert _stable(shard) == (8, NONE)


def test_a_failed_append_leaves_nothing_pending() -> None:
    shard = OffsetsShard()
    shard.driver.fail_next(CoordinatorNotAvailable("no"))
    answer = shard.commit_transactional(transactional_request("g", {"orders": {0: 5}}))
    assert isinstance(answer.error, CoordinatorNotAvailable)
    assert not shard.offsets.has_offsets("g")
    assert shard.groups.find("g") is None


# --- what takes pending offsets away ------------------------------------------------------------------------


def test_deleted_offsets_do_not_come_back_with_the_marker() -> None:
    shard = OffsetsShard()
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5, 1: 6}})).result()
    shard.driver.call(shard.offsets.delete, context(0), delete_request("g", {"orders": [0]})).result()
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.all_offsets() == {("g", "orders", 1): 6}


def test_a_deleted_group_does_not_come_back_with_the_marker() -> None:
    shard = OffsetsShard()
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5}})).result()
    shard.driver.call(delete_groups, shard.groups, shard.offsets, ["g"]).result()
    assert shard.groups.find("g") is None
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.groups.find("g") is None
    assert len(shard.offsets) == 0


def test_an_open_transaction_keeps_the_group_from_expiring() -> None:
    shard = OffsetsShard(offsets_retention_ms=1_000)
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5}})).result()
    shard.driver.advance(5_000)
    shard.driver.call(shard.offsets.expire).result()
    assert shard.groups.find("g") is not None
    shard.offsets.replay_end_marker(40, commit=False)
    shard.driver.call(shard.offsets.expire).result()
    assert shard.groups.find("g") is None


# --- validation ---------------------------------------------------------------------------------------------


def test_a_commit_without_a_generation_makes_the_group_it_names() -> None:
    shard = OffsetsShard()
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5}})).result()
    assert shard.groups.get("g").is_empty


def test_a_generation_of_a_group_that_does_not_exist_is_illegal() -> None:
    for version in (3, 5):
        shard = OffsetsShard()
        body = transactional_request("g", {"orders": {0: 5}}, generation=1, member_id="m")
        assert isinstance(shard.commit_transactional(body, version).error, IllegalGeneration)
        assert shard.groups.find("g") is None


def test_the_group_validates_a_transactional_commit() -> None:
    shard = OffsetsShard()
    group = shard.group("g", state_name="Stable")
    body = transactional_request("g", {"orders": {0: 5}}, generation=4, member_id="m", instance_id="i")
    shard.commit_transactional(body, version=3).result()
    assert group.validated == [("m", "i", 4, 3, True)]
    assert shard.renewed == [], "it is no sign of life"


@pytest.mark.parametrize(
    "refusal",
    [IllegalGeneration("no"), UnknownMemberId("no"), FencedInstanceId("no"), CoordinatorNotAvailable("no")],
)
def test_what_the_group_refuses_is_refused(refusal: KafkaError) -> None:
    shard = OffsetsShard()
    shard.group("g").refusal = refusal
    answer = shard.commit_transactional(transactional_request("g", {"orders": {0: 5}}))
    assert answer.error is refusal
    assert shard.driver.records == []


def test_a_stale_member_epoch_is_an_illegal_generation_to_a_producer() -> None:
    shard = OffsetsShard()
    group = shard.group("g", CONSUMER)
    group.refusal = StaleMemberEpoch("no")
    body = transactional_request("g", {"orders": {0: 5, 1: 5}})
    assert isinstance(shard.commit_transactional(body).error, IllegalGeneration)
    group.refusal = None
    group.partition_refusals["orders", 1] = StaleMemberEpoch("no")
    assert isinstance(shard.commit_transactional(body).error, IllegalGeneration)
    assert shard.driver.records == []
    shard.commit_transactional(transactional_request("g", {"orders": {0: 5}})).result()


def test_commit_without_a_producer_id_is_refused() -> None:
    shard = OffsetsShard()
    for producer in ((-1, 0), (40, -1)):
        body = transactional_request("g", {"orders": {0: 5}}, producer=producer)
        assert isinstance(shard.commit_transactional(body).error, UnknownServerError)


# --- partitions ---------------------------------------------------------------------------------------------


def test_unknown_partitions_and_long_metadata_spoil_no_others() -> None:
    shard = OffsetsShard(offset_metadata_max_bytes=4)
    topics = {"deleted": {0: (1, "")}, "orders": {0: (5, "long words"), 1: (6, "four"), 9: (7, "")}}
    reply = shard.commit_transactional(transactional_request("g", topics)).result()
    assert errors_of(reply) == {
        ("deleted", 0): UNKNOWN,
        ("orders", 9): UNKNOWN,
        ("orders", 0): ErrorCode.offset_metadata_too_large,
        ("orders", 1): NONE,
    }
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.all_offsets() == {("g", "orders", 1): 6}


def test_beside_unknown_partitions_an_error_of_the_group_is_the_known_ones() -> None:
    shard = OffsetsShard()
    topics = {"deleted": {0: 1}, "orders": {0: 5}}
    reply = shard.commit_transactional(transactional_request("g", topics, generation=1)).result()
    assert errors_of(reply) == {("deleted", 0): UNKNOWN, ("orders", 0): ErrorCode.illegal_generation}
    assert shard.driver.records == []


# --- the whole shard ----------------------------------------------------------------------------------------


def test_the_shard_replays_a_marker_as_the_end_of_the_transaction() -> None:
    shard = GroupShard(OffsetsShard().environment)
    value = CommittedOffset(5, -1, "", 0)
    shard.replay(OffsetCommit("g", "orders", 0, value), producer_id=40)
    assert len(shard.offsets) == 0
    shard.replay(EndMarker(40, 1, 0, is_commit=True, transaction_version=2))
    assert len(shard.offsets) == 1
