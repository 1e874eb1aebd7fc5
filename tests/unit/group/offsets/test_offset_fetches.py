"""OffsetFetch: the offsets of a group."""

from typing import Any
from uuid import UUID

import pytest
from tests.unit.group.offsets.offsets_shard import (
    OLD_ORDERS,
    ORDERS,
    OffsetsShard,
    cluster,
    errors_of,
    fetch_request,
    offsets_of,
    topic,
)

from barnabas.base.errors import ErrorCode, StaleMemberEpoch, UnknownMemberId
from barnabas.base.ids import ZERO_UUID
from barnabas.group.group import CONSUMER
from barnabas.group.records import CommittedOffset, OffsetCommit
from barnabas.wire import Reply, encode_response


def test_committed_offsets_come_with_their_epoch_and_metadata() -> None:
    shard = OffsetsShard()
    shard.replay(OffsetCommit("g", "orders", 1, CommittedOffset(5, 3, "note", 0, -1, ORDERS)))
    partition = shard.fetch(9, fetch_request(9, "g", {"orders": [1]})).topics[0].partitions[0]
    assert vars(partition) == {
        "partition_index": 1,
        "committed_offset": 5,
        "committed_leader_epoch": 3,
        "metadata": "note",
        "error_code": ErrorCode.none,
    }


def test_what_was_never_committed_has_no_offset_and_no_error() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    reply = shard.fetch(9, fetch_request(9, "g", {"orders": [0, 1], "deleted": [0]}))
    assert offsets_of(reply) == {("orders", 0): 5, ("orders", 1): -1, ("deleted", 0): -1}
    assert set(errors_of(reply).values()) == {ErrorCode.none}


def test_a_group_that_does_not_exist_has_no_offsets_and_no_error() -> None:
    shard = OffsetsShard()
    assert offsets_of(shard.fetch(9, fetch_request(9, "g", {"orders": [0]}))) == {("orders", 0): -1}
    everything = shard.fetch(9, fetch_request(9, "g", None))
    assert (everything.topics, everything.error_code) == ([], ErrorCode.none)


def test_all_partitions_are_those_with_an_offset_in_this_group() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "payments", 0, 6)
    shard.put("other", "orders", 1, 7)
    reply = shard.fetch(9, fetch_request(9, "g", None))
    assert offsets_of(reply) == {("orders", 0): 5, ("payments", 0): 6}


def test_topics_are_requested_and_returned_by_id() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, topic_id=ORDERS)
    reply = shard.fetch(10, fetch_request(10, "g", {ORDERS: [0]}))
    assert (offsets_of(reply), reply.topics[0].topic_id) == ({("orders", 0): 5}, ORDERS)


def test_unknown_topic_ids_come_last_with_an_error_for_each_partition() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    stranger = UUID(int=99)
    reply = shard.fetch(10, fetch_request(10, "g", {stranger: [0, 1], None: [0], ORDERS: [0]}))
    unknown = ErrorCode.unknown_topic_id
    assert errors_of(reply) == {
        ("orders", 0): ErrorCode.none,
        (stranger, 0): unknown,
        (stranger, 1): unknown,
        (ZERO_UUID, 0): unknown,
    }
    assert reply.topics[0].name == "orders"


def test_an_offset_of_an_earlier_topic_of_that_name_is_not_the_new_topics() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, topic_id=OLD_ORDERS)
    shard.put("g", "orders", 1, 6)
    by_id = shard.fetch(10, fetch_request(10, "g", {ORDERS: [0, 1]}))
    assert offsets_of(by_id) == {("orders", 0): -1, ("orders", 1): 6}
    by_name = shard.fetch(9, fetch_request(9, "g", {"orders": [0, 1]}))
    assert offsets_of(by_name) == {("orders", 0): 5, ("orders", 1): 6}


def test_all_partitions_by_id_leave_out_topics_that_have_none() -> None:
    shard = OffsetsShard(cluster(topic("orders", ORDERS, 1)))
    shard.put("g", "orders", 0, 5)
    shard.put("g", "deleted", 0, 6)
    reply = shard.fetch(10, fetch_request(10, "g", None))
    assert [each.topic_id for each in reply.topics] == [ORDERS]
    assert offsets_of(shard.fetch(9, fetch_request(9, "g", None))) == {
        ("orders", 0): 5,
        ("deleted", 0): 6,
    }


def test_the_group_validates_the_member() -> None:
    shard = OffsetsShard()
    group = shard.group("g", CONSUMER, "Stable")
    shard.fetch(9, fetch_request(9, "g", {"orders": [0]}, member_id="m", member_epoch=4))
    shard.fetch(7, fetch_request(7, "g", {"orders": [0]}))
    assert group.validated == [("m", 4), (None, -1)]


@pytest.mark.parametrize("error", [UnknownMemberId(), StaleMemberEpoch()])
@pytest.mark.parametrize("topics", [None, {"orders": [0]}])
def test_a_refusal_of_the_group_is_the_answer(error: UnknownMemberId, topics: Any) -> None:
    shard = OffsetsShard()
    shard.group("g", CONSUMER, "Stable").refusal = error
    with pytest.raises(type(error)):
        shard.fetch(9, fetch_request(9, "g", topics, member_id="m", member_epoch=4))


@pytest.mark.parametrize("version", range(1, 11))
def test_every_version_is_answered_in_a_way_that_can_be_encoded(version: int) -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    group = shard.fetch(version, fetch_request(version, "g", {ORDERS if version >= 10 else "orders": [0]}))
    assert offsets_of(group) == {("orders", 0): 5}
    reply = Reply(groups=[group]) if version >= 8 else Reply(topics=group.topics)
    assert encode_response(9, version, 1, reply)


# --- open transactions ---------------------------------------------------------------------------------


def test_a_partition_in_an_open_transaction_is_unstable_if_stable_offsets_are_required() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "orders", 1, 6)
    shard.put("g", "orders", 0, 7, producer_id=40)
    unstable = {("orders", 0): ErrorCode.unstable_offset_commit, ("orders", 1): ErrorCode.none}
    for topics in (None, {"orders": [0, 1]}):
        reply = shard.fetch(9, fetch_request(9, "g", topics), require_stable=True)
        assert errors_of(reply) == unstable
        assert offsets_of(reply) == {("orders", 0): -1, ("orders", 1): 6}


def test_without_require_stable_the_last_committed_offset_is_returned() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "orders", 0, 7, producer_id=40)
    reply = shard.fetch(9, fetch_request(9, "g", {"orders": [0]}))
    assert (offsets_of(reply), errors_of(reply)) == ({("orders", 0): 5}, {("orders", 0): ErrorCode.none})


def test_a_pending_offset_alone_is_unstable_and_not_among_all() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 7, producer_id=40)
    some = shard.fetch(9, fetch_request(9, "g", {"orders": [0]}), require_stable=True)
    assert errors_of(some) == {("orders", 0): ErrorCode.unstable_offset_commit}
    assert shard.fetch(9, fetch_request(9, "g", None), require_stable=True).topics == []
