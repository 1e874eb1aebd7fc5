"""Replay of the log: the same at load and live. A contradictory log is refused."""

from dataclasses import dataclass, replace

import pytest
from tests.unit.group.consumer.consumer_shard import GROUP, Client, ConsumerShard, durable, settle

from barnabas.base.errors import GroupIdNotFound
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.records import creation_records
from barnabas.group.group import CLASSIC
from barnabas.group.groups import Groups
from barnabas.group.record_codec import decode_record, encode_record
from barnabas.group.records import (
    ClassicGroupMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    ConsumerGroupValue,
    GroupRecord,
)

TOMBSTONES = [
    ConsumerGroupMetadata(GROUP, None),
    ConsumerGroupPartitionMetadata(GROUP, None),
    ConsumerGroupMemberMetadata(GROUP, "a", None),
    ConsumerGroupTargetAssignmentMetadata(GROUP, None),
    ConsumerGroupTargetAssignmentMember(GROUP, "a", None),
    ConsumerGroupCurrentMemberAssignment(GROUP, "a", None),
    ConsumerGroupRegularExpression(GROUP, "x", None),
]


@dataclass
class _ClassicGroup:
    """As much of a classic group as is needed here."""

    group_id: str = GROUP
    type: str = CLASSIC
    is_empty: bool = True

    def tombstones(self) -> list[GroupRecord]:
        return [ClassicGroupMetadata(self.group_id, None)]


def _put(groups: Groups, group: _ClassicGroup) -> None:
    groups.put(group)  # type: ignore[arg-type]


@pytest.mark.parametrize("tombstone", TOMBSTONES, ids=lambda record: type(record).__name__)
def test_a_tombstone_of_what_is_not_there_means_nothing(tombstone: GroupRecord) -> None:
    shard = ConsumerShard()
    shard.consumer_groups.replay(tombstone)  # type: ignore[arg-type]
    assert len(shard.groups) == 0


def test_the_tombstones_of_a_group_remove_all_of_it() -> None:
    shard = ConsumerShard({"orders": 2, "foo": 1})
    settle([Client(shard, "a"), Client(shard, "b", None, regex="fo.")])
    for record in shard.group.tombstones():
        shard.consumer_groups.replay(record)  # type: ignore[arg-type]
    assert shard.groups.find(GROUP) is None
    assert shard.groups.subscribed_to("orders") == frozenset()
    assert shard.groups.subscribed_to("foo") == frozenset()


def test_the_tombstones_of_a_group_whose_member_was_renamed() -> None:
    shard = ConsumerShard()
    settle([Client(shard, "a", instance_id="i")])
    member_ids = {
        record.member_id
        for record in shard.group.tombstones({"a": "b"})
        if isinstance(record, ConsumerGroupMemberMetadata)
    }
    assert member_ids == {"b"}


def test_the_records_of_a_group_make_it() -> None:
    shard = ConsumerShard()
    settle([Client(shard, "a"), Client(shard, "b")], rounds=1)
    other = ConsumerShard()
    for record in creation_records(shard.group):
        other.consumer_groups.replay(record)  # type: ignore[arg-type]
    assert durable(other.group) == durable(shard.group)


def test_only_the_newest_record_of_each_key_in_order_makes_the_same_group() -> None:
    """As a compacted log, and the loader, have it."""
    shard = ConsumerShard({"orders": 6, "foo": 2})
    clients = [Client(shard, name, ["orders"], instance_id=name, regex="fo+") for name in "abc"]
    settle(clients)
    clients.pop().leave()
    clients[0].leave_for_a_while()
    clients[0] = Client(shard, "a2", ["orders"], instance_id="a", regex="fo+")
    settle(clients, rounds=2)
    newest: dict[object, GroupRecord] = {}
    for record in shard.driver.records:
        key = (type(record), *(getattr(record, name) for name in record.__slots__ if name != "value"))
        newest.pop(key, None)
        if record.value is not None:
            newest[key] = record
    other = ConsumerShard()
    other.environment.image = shard.environment.image
    for record in newest.values():
        other.consumer_groups.replay(record)  # type: ignore[arg-type]
    assert durable(other.group) == durable(shard.group)


def test_the_records_are_the_same_after_they_were_bytes() -> None:
    shard = ConsumerShard({"orders": 6, "foo": 2})
    clients = [Client(shard, name, ["orders"], instance_id=name, regex="fo+") for name in "abc"]
    settle(clients, rounds=2)
    clients.pop().leave_for_a_while()
    clients.pop().leave()
    settle(clients, rounds=2)
    assert len({type(record) for record in shard.driver.records}) == 6
    for record in shard.driver.records:
        assert decode_record(*encode_record(record)) == record


def test_a_partition_cannot_have_two_owners() -> None:
    shard = ConsumerShard()
    shard.join("a")
    shard.join("b")
    stolen = shard.driver.records[4]
    assert isinstance(stolen, ConsumerGroupCurrentMemberAssignment)
    with pytest.raises(AssertionError, match="still owned at epoch 2"):
        shard.consumer_groups.replay(replace(stolen, member_id="b"))


def test_a_group_is_not_deleted_under_its_members() -> None:
    shard = ConsumerShard()
    shard.join("a")
    for record in (
        ConsumerGroupMetadata(GROUP, None),
        ConsumerGroupTargetAssignmentMetadata(GROUP, None),
        ConsumerGroupMemberMetadata(GROUP, "a", None),
    ):
        with pytest.raises(AssertionError):
            shard.consumer_groups.replay(record)


def test_an_empty_classic_group_gives_way_to_a_consumer_group() -> None:
    shard = ConsumerShard()
    _put(shard.groups, _ClassicGroup())
    replay = shard.consumer_groups.replay

    class WholeShard:
        """Skips classic records: there are no classic groups here."""

        def replay(self, record: GroupRecord) -> None:
            if not isinstance(record, ClassicGroupMetadata):
                replay(record)  # type: ignore[arg-type]

    shard.driver.shard = WholeShard()
    assert shard.join("a").member_epoch == 2
    assert shard.driver.records[0] == ClassicGroupMetadata(GROUP, None)
    assert isinstance(shard.groups.get(GROUP), ConsumerGroup)


def test_a_classic_group_with_members_needs_the_migration() -> None:
    shard = ConsumerShard()
    _put(shard.groups, _ClassicGroup(is_empty=False))
    with pytest.raises(GroupIdNotFound, match=r"Group g is not a consumer group\."):
        shard.join("a")
    with pytest.raises(GroupIdNotFound, match=r"Group g is not a consumer group\."):
        shard.heartbeat("a", -1).result()
    with pytest.raises(AssertionError, match="not a consumer group"):
        shard.consumer_groups.replay(ConsumerGroupMetadata(GROUP, ConsumerGroupValue(1)))


def test_a_member_of_an_empty_classic_group_is_not_known() -> None:
    shard = ConsumerShard()
    _put(shard.groups, _ClassicGroup())
    with pytest.raises(GroupIdNotFound, match=r"Group g is not a consumer group\."):
        shard.heartbeat("a", 5).result()
