"""Each invariant names a view that breaks it, and accepts one that does not."""

from dataclasses import replace

from tests.simulation.history import ALL, Write
from tests.simulation.invariants import Invariants, PartitionView, ReplicaView, StoredBatch

from barnabas.base.ids import TopicPartition

P = TopicPartition("t", 0)


def _batch(offset: int, value: bytes) -> StoredBatch:
    return StoredBatch(offset, offset, value, ((offset, value),))


_RECORDS = tuple(_batch(offset, b"v%d" % offset) for offset in range(4))
_LEADER = ReplicaView(1, 5, 3, 4, is_leader=True, batches=_RECORDS)
_FOLLOWER = ReplicaView(2, 5, 2, 3, batches=_RECORDS[:3])
_OUTSIDER = ReplicaView(3, 5, 1, 1, batches=_RECORDS[:1])
_VIEW = PartitionView(P, 1, 5, (1, 2), (_LEADER, _FOLLOWER, _OUTSIDER), state_version=8)


def _with(*replicas: ReplicaView) -> PartitionView:
    changed = {each.broker_id: each for each in replicas}
    return replace(_VIEW, replicas=tuple(changed.get(each.broker_id, each) for each in _VIEW.replicas))


def _kinds(*views: PartitionView, acknowledged: list[Write] | None = None) -> list[str]:
    invariants = Invariants()
    return [violation.kind for view in views for violation in invariants.check(view, acknowledged or [])]


def _acknowledged(offset: int, value: bytes) -> Write:
    write = Write("producer", P, (value,), ALL, 0)
    write.acknowledge(offset, 1)
    return write


def test_sound_views_have_no_violation() -> None:
    grown = replace(_LEADER, high_watermark=4)
    caught_up = replace(_FOLLOWER, high_watermark=3, log_end_offset=4, batches=_RECORDS)
    acknowledged = [_acknowledged(2, b"v2")]
    assert _kinds(_VIEW, _with(grown, caught_up), acknowledged=acknowledged) == []


def test_two_leaders_in_an_epoch() -> None:
    assert _kinds(_with(replace(_FOLLOWER, is_leader=True))) == ["two-leaders"]


def test_second_leader_of_an_epoch_at_another_time() -> None:
    deposed = replace(_LEADER, is_leader=False)
    assert _kinds(_VIEW, _with(deposed, replace(_FOLLOWER, is_leader=True))) == ["two-leaders"]


def test_leader_of_the_next_epoch_is_no_second_leader() -> None:
    assert _kinds(_VIEW, _with(replace(_FOLLOWER, is_leader=True, leader_epoch=6))) == []


def test_high_watermark_falls() -> None:
    assert _kinds(_VIEW, _with(replace(_LEADER, high_watermark=2))) == ["high-watermark-fell"]


def test_high_watermark_of_a_new_leader_may_be_lower() -> None:
    follower = replace(_FOLLOWER, is_leader=True, leader_epoch=6)
    deposed = replace(_LEADER, is_leader=False, leader_epoch=6, high_watermark=2)
    assert _kinds(_VIEW, replace(_with(deposed, follower), leader=2, leader_epoch=6)) == []


def test_log_end_of_a_leader_falls() -> None:
    shorter = replace(_LEADER, log_end_offset=3, batches=_RECORDS[:3])
    assert _kinds(_VIEW, _with(shorter)) == ["leader-end-fell"]


def test_replicas_differ_below_the_high_watermark() -> None:
    diverged = replace(_FOLLOWER, batches=(_RECORDS[0], _batch(1, b"other"), _RECORDS[2]))
    assert _kinds(_with(diverged)) == ["replicas-differ"]


def test_replica_lacks_a_batch_below_its_high_watermark() -> None:
    assert set(_kinds(_with(replace(_FOLLOWER, batches=_RECORDS[1:3])))) == {"replicas-differ"}


def test_replicas_may_differ_above_the_high_watermark() -> None:
    diverged = replace(_FOLLOWER, batches=(*_RECORDS[:2], _batch(2, b"other")))
    assert _kinds(_with(diverged)) == []


def test_replica_that_deleted_its_first_records_is_compared_from_there_on() -> None:
    assert _kinds(_with(replace(_FOLLOWER, log_start_offset=1, batches=_RECORDS[1:3]))) == []


def test_member_of_the_isr_lacks_committed_records() -> None:
    behind = replace(_FOLLOWER, log_end_offset=2, batches=_RECORDS[:2])
    assert _kinds(_with(behind)) == ["isr-lacks-records"]


def test_member_of_the_isr_that_lost_power_may_lack_records() -> None:
    behind = replace(_FOLLOWER, log_end_offset=2, batches=_RECORDS[:2], may_lack_records=True)
    assert _kinds(_with(behind)) == []


def test_acknowledged_record_is_on_no_electable_replica() -> None:
    lost = [_acknowledged(4, b"v4")]
    assert _kinds(_VIEW, acknowledged=lost) == ["no-electable-replica"]


def test_acknowledged_record_on_a_replica_outside_the_isr_does_not_count() -> None:
    far = replace(_OUTSIDER, log_end_offset=5, batches=(*_RECORDS, _batch(4, b"v4")))
    lost = [_acknowledged(4, b"v4")]
    assert _kinds(_with(far), acknowledged=lost) == ["no-electable-replica"]
    elected = replace(_with(far), isr=(3,))
    assert _kinds(elected, acknowledged=lost) == []


def test_state_goes_back() -> None:
    assert _kinds(_VIEW, replace(_VIEW, state_version=7)) == ["state-went-back"]
    assert _kinds(_VIEW, _with(replace(_OUTSIDER, leader_epoch=4))) == ["state-went-back"]


def test_state_of_a_broker_that_was_started_again_may_be_older() -> None:
    invariants = Invariants()
    assert list(invariants.check(_VIEW)) == []
    invariants.forget_broker(3)
    assert list(invariants.check(_with(replace(_OUTSIDER, leader_epoch=4)))) == []


def test_member_of_the_isr_lacks_an_acknowledged_record() -> None:
    acknowledged = [_acknowledged(3, b"v3")]
    assert _kinds(_VIEW, acknowledged=acknowledged) == ["isr-lacks-records"]


def test_eligible_leader_replica_lacks_an_acknowledged_record() -> None:
    view = replace(_VIEW, isr=(1,), electable_outside_isr=(2,))
    acknowledged = [_acknowledged(3, b"v3")]
    assert _kinds(view, acknowledged=acknowledged) == ["elr-lacks-records"]


def test_truncated_replica_is_checked_again() -> None:
    invariants = Invariants()
    acknowledged = [_acknowledged(2, b"v2")]
    whole = _with(*(replace(each, generation=1) for each in (_LEADER, _FOLLOWER)))
    assert list(invariants.check(whole, acknowledged)) == []
    shorter = replace(_FOLLOWER, log_end_offset=2, high_watermark=1, batches=_RECORDS[:2], generation=2)
    kinds = [each.kind for each in invariants.check(_with(shorter), acknowledged)]
    assert kinds == ["isr-lacks-records"] * 2
