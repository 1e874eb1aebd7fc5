"""OffsetDelete, and offsets of topics that were deleted."""

import pytest
from tests.unit.group.offsets.offsets_shard import (
    OLD_ORDERS,
    ORDERS,
    OffsetsShard,
    context,
    delete_request,
    topic,
)

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    GroupIdNotFound,
    InvalidGroupId,
    NonEmptyGroup,
)
from barnabas.group.offsets import offset_deletion
from barnabas.group.records import OffsetCommit
from barnabas.wire import Reply, encode_response


def _delete(shard: OffsetsShard, group_id: str, topics: dict[str, list[int]]) -> Deferred[Reply]:
    return shard.driver.call(shard.offsets.delete, context(0), delete_request(group_id, topics))


def _errors(reply: Reply) -> dict[tuple[str, int], ErrorCode]:
    return {
        (each.name, partition.partition_index): partition.error_code
        for each in reply.topics
        for partition in each.partitions
    }


def test_deleted_offsets_are_removed_and_others_stay() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "orders", 1, 6)
    reply = _delete(shard, "g", {"orders": [0, 2]}).result()
    assert _errors(reply) == {("orders", 0): ErrorCode.none, ("orders", 2): ErrorCode.none}
    assert shard.driver.records == [OffsetCommit("g", "orders", 0, None)]
    assert shard.all_offsets() == {("g", "orders", 1): 6}
    assert encode_response(47, 0, 1, reply)


def test_offsets_of_a_topic_the_group_is_subscribed_to_stay() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "payments", 0, 6)
    group = shard.groups.get("g")
    group.subscribed = {"orders"}  # type: ignore[attr-defined]
    reply = _delete(shard, "g", {"orders": [0], "payments": [0]}).result()
    assert _errors(reply) == {
        ("orders", 0): ErrorCode.group_subscribed_to_topic,
        ("payments", 0): ErrorCode.none,
    }
    assert shard.all_offsets() == {("g", "orders", 0): 5}


def test_unknown_partitions_are_errors_of_their_own() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    reply = _delete(shard, "g", {"orders": [0, 7], "deleted": [0]}).result()
    unknown = ErrorCode.unknown_topic_or_partition
    assert _errors(reply) == {("orders", 7): unknown, ("orders", 0): ErrorCode.none, ("deleted", 0): unknown}
    assert encode_response(47, 0, 1, reply)


def test_a_group_must_exist_and_have_a_name() -> None:
    shard = OffsetsShard()
    assert isinstance(_delete(shard, "g", {"orders": [0]}).error, GroupIdNotFound)
    assert isinstance(_delete(shard, "", {"orders": [0]}).error, InvalidGroupId)


def test_a_group_may_refuse() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.groups.get("g").refusal = NonEmptyGroup()  # type: ignore[attr-defined]
    assert isinstance(_delete(shard, "g", {"orders": [0]}).error, NonEmptyGroup)
    assert shard.driver.records == []


def test_an_offset_that_is_only_pending_is_deleted_too() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, producer_id=40)
    _delete(shard, "g", {"orders": [0]}).result()
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.offset("g", "orders", 0) == -1


# --- topics that are deleted ----------------------------------------------------------------------------


def test_offsets_of_a_deleted_topic_go_in_every_group() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, topic_id=ORDERS)
    shard.put("h", "orders", 1, 6)
    shard.put("h", "payments", 0, 7)
    shard.driver.call(shard.offsets.on_topics_deleted, [topic("orders", ORDERS, 3)]).result()
    assert shard.all_offsets() == {("h", "payments", 0): 7}


def test_offsets_of_a_topic_with_the_same_name_and_another_id_stay() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, topic_id=ORDERS)
    shard.driver.call(shard.offsets.on_topics_deleted, [topic("orders", OLD_ORDERS, 3)]).result()
    assert shard.driver.records == []
    assert shard.all_offsets() == {("g", "orders", 0): 5}


def test_pending_offsets_of_a_deleted_topic_go_too_with_one_tombstone() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "orders", 0, 6, producer_id=40)
    shard.put("g", "orders", 1, 6, producer_id=40)
    shard.driver.call(shard.offsets.on_topics_deleted, [topic("orders", ORDERS, 3)]).result()
    assert shard.driver.records == [
        OffsetCommit("g", "orders", 0, None),
        OffsetCommit("g", "orders", 1, None),
    ]
    shard.offsets.replay_end_marker(40, commit=True)
    assert shard.all_offsets() == {}


def test_many_offsets_go_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_deletion, "STEP", 10)
    shard = OffsetsShard()
    for number in range(25):
        shard.put(f"g{number}", "orders", 0, 5)
    shard.driver.call(shard.offsets.on_topics_deleted, [topic("orders", ORDERS, 3)]).result()
    assert len(shard.driver.records) == 10
    shard.driver.advance(1)
    assert len(shard.driver.records) == 25
    assert len(shard.offsets) == 0
    assert len(shard.environment.timers) == 0


def test_a_deletion_that_could_not_be_written_is_tried_again() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.driver.fail_next(CoordinatorNotAvailable())
    shard.driver.call(shard.offsets.on_topics_deleted, [topic("orders", ORDERS, 3)])
    assert shard.offset("g", "orders", 0) == 5
    shard.driver.advance(1_000)
    assert shard.offset("g", "orders", 0) == -1
    assert len(shard.environment.timers) == 0
