import pytest

from barnabas.replication.isr import (
    FollowerState,
    InSyncReplicas,
    high_watermark,
    is_under_min_isr,
    lagging,
    may_join,
    without,
)

LAG = 10_000


def follower(end: int, caught_up_ms: int = 0) -> FollowerState:
    return FollowerState(log_end_offset=end, last_caught_up_ms=caught_up_ms)


def watermark(isr: InSyncReplicas, followers: dict[int, FollowerState], now_ms: int = 100_000) -> int:
    return high_watermark(50, followers, isr, now_ms, LAG, lambda broker_id, epoch: True)


def test_high_watermark_is_the_lowest_end_of_the_in_sync_replicas() -> None:
    assert watermark(InSyncReplicas((1, 2, 3)), {2: follower(40), 3: follower(45)}) == 40
    assert watermark(InSyncReplicas((1, 3)), {2: follower(40), 3: follower(45)}) == 45
    assert watermark(InSyncReplicas((1,)), {2: follower(40), 3: follower(45)}) == 50


def test_replica_that_is_to_join_counts_before_the_controller_answers() -> None:
    assert watermark(InSyncReplicas((1,), (1, 2)), {2: follower(40)}) == 40


def test_replica_that_is_to_leave_counts_until_the_controller_answers() -> None:
    assert watermark(InSyncReplicas((1, 2), (1,)), {2: follower(40)}) == 40


def test_caught_up_replica_outside_of_the_in_sync_set_counts() -> None:
    """It is about to join: records that it lacks must not be committed without it."""
    assert watermark(InSyncReplicas((1,)), {2: follower(40, caught_up_ms=95_000)}) == 40
    assert watermark(InSyncReplicas((1,)), {2: follower(40, caught_up_ms=80_000)}) == 50


def test_caught_up_replica_whose_broker_has_died_does_not_hold_the_watermark() -> None:
    """It cannot join. As a member it holds the watermark until the controller removes it."""
    followers = {2: FollowerState(40, broker_epoch=7, last_caught_up_ms=95_000)}

    def end(isr: tuple[int, ...], registered: int | None) -> int:
        return high_watermark(
            50, followers, InSyncReplicas(isr), 100_000, LAG, lambda *broker: broker == (2, registered)
        )

    assert (end((1,), 7), end((1,), 8), end((1,), None)) == (40, 50, 50)
    assert end((1, 2), None) == 40


def test_follower_that_has_not_fetched_yet_holds_the_watermark() -> None:
    assert watermark(InSyncReplicas((1, 2)), {2: FollowerState()}) == -1


def test_follower_is_caught_up_when_it_fetches_from_the_log_end() -> None:
    state = FollowerState()
    state.on_fetch(50, 0, leader_end=50, now_ms=1000, broker_epoch=7)
    assert (state.last_caught_up_ms, state.log_end_offset, state.broker_epoch) == (1000, 50, 7)


def test_follower_that_reaches_the_end_of_its_fetch_before_was_caught_up_then() -> None:
    """Under a steady load a follower never fetches from the very end."""
    state = FollowerState()
    state.on_fetch(10, 0, leader_end=50, now_ms=1000, broker_epoch=1)
    assert state.last_caught_up_ms < 0
    state.on_fetch(50, 0, leader_end=90, now_ms=1500, broker_epoch=1)
    assert state.last_caught_up_ms == 1000
    state.on_fetch(60, 0, leader_end=95, now_ms=1600, broker_epoch=1)
    assert state.last_caught_up_ms == 1000


def test_follower_at_the_log_end_is_in_sync_however_long_ago_it_fetched() -> None:
    """Nothing was appended since (KAFKA-7152)."""
    assert follower(50).is_caught_up(50, 1_000_000, LAG)
    assert not follower(49).is_caught_up(50, 1_000_000, LAG)


def test_lagging_members_are_found_and_none_while_a_change_is_pending() -> None:
    followers = {2: follower(40, 80_000), 3: follower(40, 95_000), 4: follower(0)}
    assert lagging(followers, InSyncReplicas((1, 2, 3)), 50, 100_000, LAG) == [2]
    assert lagging(followers, InSyncReplicas((1, 2, 3), (1, 3)), 50, 100_000, LAG) == []
    assert without(InSyncReplicas((1, 2, 3)), [2]) == (1, 3)


@pytest.mark.parametrize(
    ("end", "watermark", "epoch_start", "may"), [(50, 50, 40, True), (49, 50, 40, False), (50, 30, 60, False)]
)
def test_joining_needs_the_watermark_and_the_start_of_the_epoch(
    end: int, watermark: int, epoch_start: int, may: bool
) -> None:
    assert may_join(follower(end), watermark, epoch_start) is may


def test_a_topic_cannot_require_more_in_sync_replicas_than_it_has() -> None:
    assert not is_under_min_isr(InSyncReplicas((1,)), 1, 2)
    assert is_under_min_isr(InSyncReplicas((1,)), 3, 2)
    assert not is_under_min_isr(InSyncReplicas((1, 2)), 3, 2)
