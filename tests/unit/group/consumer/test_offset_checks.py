"""Validation of offset commits and fetches of a consumer group."""

from dataclasses import replace

import pytest
from tests.unit.group.consumer.consumer_shard import Client, ConsumerShard, settle

from barnabas.base.errors import (
    IllegalGeneration,
    NonEmptyGroup,
    StaleMemberEpoch,
    UnknownMemberId,
    UnsupportedVersion,
)
from barnabas.group.group import ALLOW, CommitValidator
from barnabas.group.records import (
    ClassicProtocols,
    CommittedOffset,
    ConsumerGroupMemberMetadata,
)


def _commit(
    shard: ConsumerShard,
    member_id: str,
    epoch: int,
    version: int = 9,
    *,
    is_transactional: bool = False,
) -> CommitValidator:
    return shard.group.validate_offset_commit(
        member_id, None, epoch, version, is_transactional=is_transactional
    )


def _moved() -> tuple[ConsumerShard, Client]:
    """A member at epoch 3 that had all four partitions at epoch 2 and kept two."""
    shard = ConsumerShard()
    client, other = Client(shard, "a"), Client(shard, "b")
    client.settle()
    settle([client, other])
    assert client.epoch == 3
    return shard, client


def _make_classic(shard: ConsumerShard, member_id: str) -> None:
    value = replace(shard.group.members[member_id].value, classic=ClassicProtocols(45_000, (("range", b""),)))
    shard.consumer_groups.replay(ConsumerGroupMemberMetadata("g", member_id, value))


def test_a_member_commits_at_its_epoch() -> None:
    shard, _ = _moved()
    assert _commit(shard, "a", 3) is ALLOW


def test_only_members_may_commit() -> None:
    shard, _ = _moved()
    with pytest.raises(UnknownMemberId):
        _commit(shard, "x", 3)
    with pytest.raises(UnknownMemberId):
        _commit(shard, "", -1)


def test_a_standalone_commit_is_for_groups_without_members() -> None:
    shard = ConsumerShard()
    shard.join("a")
    shard.heartbeat("a", -1).result()
    assert _commit(shard, "", -1, version=2) is ALLOW


def test_an_old_request_cannot_carry_epochs() -> None:
    shard, _ = _moved()
    with pytest.raises(UnsupportedVersion, match="OffsetCommit version 9 or above"):
        _commit(shard, "a", 3, version=8)
    assert _commit(shard, "a", 3, version=3, is_transactional=True) is ALLOW
    assert _commit(shard, "", -1, is_transactional=True) is ALLOW


def test_an_epoch_from_the_future_is_stale() -> None:
    shard, _ = _moved()
    with pytest.raises(
        StaleMemberEpoch, match="Received member epoch 4 is newer than current member epoch 3"
    ):
        _commit(shard, "a", 4)


def test_an_older_epoch_commits_what_was_assigned_by_then() -> None:
    shard, client = _moved()
    check = _commit(shard, "a", 2)
    for topic, partition in client.holds:
        check(topic, partition)
    foreign = ({0, 1, 2, 3} - {partition for _, partition in client.holds}).pop()
    with pytest.raises(StaleMemberEpoch, match=f"Partition orders-{foreign} is not assigned or pending"):
        check("orders", foreign)
    with pytest.raises(StaleMemberEpoch, match="Partition nowhere-0 is not assigned"):
        check("nowhere", 0)


def test_an_older_epoch_does_not_commit_what_was_assigned_later() -> None:
    shard, _ = _moved()
    shard.set_topics({"orders": 6})
    settle([Client(shard, "c")])
    newest = shard.group.members["c"]
    partition = next(iter(next(iter(newest.assigned.values()))))
    with pytest.raises(StaleMemberEpoch, match="is older than assignment epoch"):
        _commit(shard, "c", newest.epoch - 1)("orders", partition)


def test_what_has_to_be_given_up_may_still_be_committed() -> None:
    shard, client = _moved()
    for name in "cd":
        Client(shard, name).beat()
    client.beat()
    [(_, partitions)] = shard.group.members["a"].pending_revocation.items()
    check = _commit(shard, "a", 2)
    for partition in partitions:
        check("orders", partition)


def test_errors_of_a_classic_member_name_generations() -> None:
    shard, _ = _moved()
    _make_classic(shard, "a")
    assert _commit(shard, "a", 3, version=2) is ALLOW
    with pytest.raises(IllegalGeneration, match="Received generation id 4 is newer"):
        _commit(shard, "a", 4, version=2)
    with pytest.raises(IllegalGeneration, match="Partition nowhere-1 is not assigned"):
        _commit(shard, "a", 2, version=2)("nowhere", 1)
    with pytest.raises(IllegalGeneration, match="received generation id 2 does not match"):
        shard.group.validate_offset_fetch("a", 2)


def test_fetching_needs_no_member_but_checks_the_one_that_is_named() -> None:
    shard, _ = _moved()
    shard.group.validate_offset_fetch(None, -1)
    shard.group.validate_offset_fetch("a", 3)
    with pytest.raises(UnknownMemberId):
        shard.group.validate_offset_fetch("x", 3)
    with pytest.raises(StaleMemberEpoch, match="The received member epoch 2 does not match"):
        shard.group.validate_offset_fetch("a", 2)


def test_only_an_empty_group_may_be_deleted() -> None:
    shard = ConsumerShard()
    shard.join("a")
    with pytest.raises(NonEmptyGroup):
        shard.group.validate_delete()
    shard.heartbeat("a", -1).result()
    shard.group.validate_delete()
    shard.group.validate_offset_delete()


def test_offsets_expire_by_the_time_of_their_commit() -> None:
    shard = ConsumerShard()
    shard.join("a")
    condition = shard.group.expiration_condition()
    assert condition is not None
    assert condition.base_timestamp_ms(CommittedOffset(1, -1, "", 4711)) == 4711
