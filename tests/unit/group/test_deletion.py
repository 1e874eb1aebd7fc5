"""DeleteGroups: the groups that are deleted, and their tombstones."""

from tests.unit.group.offsets.offsets_shard import OffsetsShard

from barnabas.base.errors import ErrorCode, NonEmptyGroup
from barnabas.group.deletion import delete_groups
from barnabas.group.records import ClassicGroupMetadata, OffsetCommit
from barnabas.wire import Reply, encode_response


def _delete(shard: OffsetsShard, *group_ids: str) -> dict[str, ErrorCode]:
    results = shard.driver.call(delete_groups, shard.groups, shard.offsets, group_ids).result()
    for version in range(3):
        assert encode_response(42, version, 1, Reply(results=results))
    return {each.group_id: each.error_code for each in results}


def test_a_group_goes_with_all_its_offsets() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "payments", 0, 6)
    shard.put("other", "orders", 0, 7)
    assert _delete(shard, "g") == {"g": ErrorCode.none}
    assert shard.driver.records == [
        OffsetCommit("g", "orders", 0, None),
        OffsetCommit("g", "payments", 0, None),
        ClassicGroupMetadata("g", None),
    ]
    assert shard.groups.find("g") is None
    assert shard.all_offsets() == {("other", "orders", 0): 7}


def test_each_group_has_its_own_result() -> None:
    shard = OffsetsShard()
    shard.group("empty")
    shard.group("stable", state_name="Stable").refusal = NonEmptyGroup()
    assert _delete(shard, "stable", "unknown", "empty") == {
        "stable": ErrorCode.non_empty_group,
        "unknown": ErrorCode.group_id_not_found,
        "empty": ErrorCode.none,
    }
    assert shard.driver.records == [ClassicGroupMetadata("empty", None)]


def test_a_group_that_is_named_twice_is_deleted_once() -> None:
    shard = OffsetsShard()
    shard.group("g")
    assert _delete(shard, "g", "g") == {"g": ErrorCode.none}
    assert shard.driver.records == [ClassicGroupMetadata("g", None)]


def test_offsets_pending_in_a_transaction_go_too() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5, producer_id=40)
    _delete(shard, "g")
    shard.offsets.replay_end_marker(40, commit=True)
    assert len(shard.offsets) == 0
