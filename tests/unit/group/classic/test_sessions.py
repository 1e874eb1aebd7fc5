import pytest
from tests.unit.group.classic.classic_driver import (
    GROUP,
    INITIAL_DELAY_MS,
    SESSION_MS,
    ClassicDriver,
    code,
)

from barnabas.base.errors import ErrorCode


def test_a_member_that_stops_sending_heartbeats_is_removed(driver: ClassicDriver) -> None:
    leader, silent = driver.stable(2)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(leader, 1) is ErrorCode.none
    assert len(driver.group.members) == 2
    driver.advance(1)
    assert driver.state == "PreparingRebalance"
    assert list(driver.group.members) == [leader]
    assert driver.heartbeat(silent, 1) is ErrorCode.unknown_member_id


def test_heartbeats_keep_a_member_alive(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    for _ in range(10):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat(member_id, 1) is ErrorCode.none
    assert driver.state == "Stable"


def test_a_heartbeat_sets_no_new_deadline(driver: ClassicDriver) -> None:
    members = driver.stable(3)
    deadlines = len(driver.environment.timers)
    session = driver.group.members[members[0]].session
    for member_id in members:
        driver.heartbeat(member_id, 1)
    assert len(driver.environment.timers) == deadlines == 3
    assert driver.group.members[members[0]].session is session


def test_a_group_whose_last_member_stops_sending_heartbeats_is_empty(driver: ClassicDriver) -> None:
    driver.stable()
    driver.advance(SESSION_MS)
    assert driver.state == "Empty"
    assert driver.group.generation == 2
    assert driver.records[-1].value.members == ()
    assert driver.records[-1].value.protocol_type == "consumer"


def test_a_rebalance_goes_on_without_a_member_that_stops_sending_heartbeats(driver: ClassicDriver) -> None:
    leader, silent = driver.stable(2)
    answer = driver.join(leader)
    driver.advance(SESSION_MS)
    assert [each.member_id for each in answer.result().members] == [leader]
    assert silent not in driver.group.members


def test_a_member_that_waits_for_a_rebalance_need_not_send_heartbeats(driver: ClassicDriver) -> None:
    leader, busy = driver.stable(2)
    answer = driver.join(leader)
    for _ in range(4):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat(busy, 1) is ErrorCode.rebalance_in_progress
    assert not answer.is_done
    driver.join(busy)
    assert {each.member_id for each in answer.result().members} == {leader, busy}


def test_a_member_that_waits_for_its_assignment_need_not_send_heartbeats(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    for _ in range(3):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat(leader, 1) is ErrorCode.none
    driver.sync(leader, 1, {follower: b"his"})
    assert parked.result().assignment == b"his"


def test_the_session_begins_again_with_the_assignment(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    driver.sync(follower, 1)
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(leader, 1)
    driver.advance(SESSION_MS - 1)
    driver.sync(leader, 1)
    driver.advance(1)
    driver.heartbeat(leader, 1)
    driver.advance(SESSION_MS - 2)
    assert driver.state == "Stable"
    driver.heartbeat(leader, 1)
    driver.advance(1)
    assert list(driver.group.members) == [leader]


def test_a_member_lost_before_the_assignment_makes_the_others_rebalance(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    driver.advance(SESSION_MS)
    assert leader not in driver.group.members
    assert code(parked) is ErrorCode.rebalance_in_progress
    assert driver.join(follower).result().leader == follower


def test_a_commit_of_offsets_renews_the_session(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    driver.advance(SESSION_MS - 1)
    driver.classic.renew_session(driver.group, member_id)
    driver.advance(SESSION_MS - 1)
    assert driver.state == "Stable"
    driver.classic.renew_session(driver.group, "unknown")
    driver.advance(1)
    assert driver.state == "Empty"


@pytest.mark.parametrize("group_id", ["", "elsewhere"])
def test_a_heartbeat_to_no_group_is_refused(driver: ClassicDriver, group_id: str) -> None:
    expected = ErrorCode.unknown_member_id if group_id else ErrorCode.invalid_group_id
    assert driver.heartbeat("m", 1, group_id=group_id) is expected


def test_a_heartbeat_checks_the_member_before_the_generation(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    assert driver.heartbeat("m", 7) is ErrorCode.unknown_member_id
    assert driver.heartbeat(follower, 7) is ErrorCode.illegal_generation
    assert driver.heartbeat(follower, 1) is ErrorCode.rebalance_in_progress


def test_heartbeats_are_accepted_before_the_assignment(driver: ClassicDriver) -> None:
    (leader,) = driver.completing()
    assert driver.heartbeat(leader, 1) is ErrorCode.none


def test_a_heartbeat_to_an_empty_group_knows_no_member(driver: ClassicDriver) -> None:
    driver.join()
    assert driver.heartbeat("m", 0) is ErrorCode.unknown_member_id


def test_no_deadline_is_left_of_a_deleted_group(driver: ClassicDriver) -> None:
    driver.stable(2)
    driver.join()
    driver.replay_tombstone()
    assert driver.groups.find(GROUP) is None
    assert len(driver.environment.timers) == 0


def test_no_deadline_is_left_of_members_that_left(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable(3))
    assert driver.state == "Empty"
    assert len(driver.environment.timers) == 0


def test_deadlines_of_a_deleted_group_do_nothing(driver: ClassicDriver) -> None:
    answers = driver.joining(2)
    driver.groups.remove(GROUP)
    driver.advance(INITIAL_DELAY_MS + 10 * SESSION_MS)
    assert not any(answer.is_done for answer in answers.values())
    assert len(driver.records) == 1
