import pytest
from tests.unit.group.classic.classic_driver import (
    GROUP,
    REBALANCE_MS,
    ClassicDriver,
    assignment,
    code,
)

from barnabas.base.errors import ErrorCode
from barnabas.group.records import ClassicGroupMetadata, ClassicGroupValue, ClassicMemberValue
from barnabas.wire import encode_response

SYNC_GROUP = 14


def test_followers_wait_for_the_leaders_assignment(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    assert not parked.is_done
    answer = driver.sync(leader, 1, {each: assignment(each) for each in (leader, follower)})
    assert answer.result().assignment == assignment(leader)
    assert parked.result().assignment == assignment(follower)
    assert (parked.result().protocol_type, parked.result().protocol_name) == ("consumer", "range")
    assert driver.state == "Stable"


def test_the_assignment_is_written_with_the_members(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    member = ClassicMemberValue(
        member_id=member_id,
        group_instance_id=None,
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=driver.group.members[member_id].protocols[0][1],
        assignment=assignment(member_id),
    )
    value = ClassicGroupValue("consumer", 1, "range", member_id, driver.clock.now_ms(), (member,))
    assert driver.records[-1] == ClassicGroupMetadata(GROUP, value)


def test_no_member_gets_an_assignment_before_it_is_committed(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    driver.hold_commits()
    answers = driver.sync_all([leader, follower], 1)
    assert not any(answer.is_done for answer in answers.values())
    driver.commit()
    assert {code(answer) for answer in answers.values()} == {ErrorCode.none}


def test_a_rebalance_during_the_commit_cancels_the_assignment(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    driver.hold_commits()
    answers = driver.sync_all([leader, follower], 1)
    driver.join(follower, protocols={"range": b"other"})
    assert {code(answer) for answer in answers.values()} == {ErrorCode.rebalance_in_progress}
    driver.commit()
    assert driver.state == "PreparingRebalance"


def test_a_stable_group_returns_the_assignment_at_once(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    driver.sync(leader, 1, {each: assignment(each) for each in (leader, follower)})
    assert driver.state == "Stable"
    assert driver.sync(follower, 1).result().assignment == assignment(follower)
    assert driver.sync(follower, 1).result().assignment == assignment(follower)


def test_a_member_that_the_leader_forgot_gets_nothing(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    driver.sync(leader, 1, {leader: assignment(leader)})
    assert (code(parked), parked.result().assignment) == (ErrorCode.none, b"")


def test_an_assignment_to_an_unknown_member_is_ignored(driver: ClassicDriver) -> None:
    (leader,) = driver.completing()
    driver.sync(leader, 1, {leader: b"mine", "stranger": b"his"})
    assert [each.member_id for each in driver.records[-1].value.members] == [leader]


def test_members_that_do_not_sync_in_time_are_removed(driver: ClassicDriver) -> None:
    leader, slow = driver.completing(2)
    driver.sync(leader, 1, {leader: b"mine"})
    _keep_alive(driver, 1, REBALANCE_MS, leader, slow)
    assert driver.state == "PreparingRebalance"
    assert list(driver.group.members) == [leader]


def test_when_the_leader_does_not_sync_in_time_its_followers_rebalance(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    _keep_alive(driver, 1, REBALANCE_MS, leader)
    assert code(parked) is ErrorCode.rebalance_in_progress
    assert driver.join(follower).result().leader == follower


def test_a_group_whose_members_all_synced_has_no_sync_deadline(driver: ClassicDriver) -> None:
    members = driver.stable(2)
    _keep_alive(driver, 1, 2 * REBALANCE_MS, *members)
    assert driver.state == "Stable"


def test_a_member_that_syncs_twice_gives_up_its_first_request(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    first, second = driver.sync(follower, 1), driver.sync(follower, 1)
    assert code(first) is ErrorCode.rebalance_in_progress
    driver.sync(leader, 1, {follower: b"his"})
    assert second.result().assignment == b"his"


# --- errors, the first that applies ----------------------------------------------------------------------


def test_an_empty_group_id_is_refused(driver: ClassicDriver) -> None:
    assert code(driver.sync("m", 1, group_id="")) is ErrorCode.invalid_group_id


def test_a_group_that_is_not_there_knows_no_member(driver: ClassicDriver) -> None:
    assert code(driver.sync("m", 1)) is ErrorCode.unknown_member_id


def test_an_empty_group_knows_no_member(driver: ClassicDriver) -> None:
    driver.join()
    assert code(driver.sync("m", 0)) is ErrorCode.unknown_member_id


def test_an_unknown_member_comes_before_a_wrong_generation(driver: ClassicDriver) -> None:
    driver.stable()
    assert code(driver.sync("m", 7)) is ErrorCode.unknown_member_id


def test_a_wrong_generation_comes_before_a_wrong_protocol(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    assert code(driver.sync(member_id, 2, protocol="sticky")) is ErrorCode.illegal_generation


@pytest.mark.parametrize(("protocol_type", "protocol"), [("connect", "range"), ("consumer", "sticky")])
def test_another_protocol_than_the_groups_is_refused(
    driver: ClassicDriver, protocol_type: str, protocol: str
) -> None:
    (member_id,) = driver.stable()
    answer = driver.sync(member_id, 1, protocol_type=protocol_type, protocol=protocol)
    assert code(answer) is ErrorCode.inconsistent_group_protocol


def test_from_version_5_on_the_protocol_must_be_named(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    answer = driver.sync(member_id, 1, protocol_type=None, version=5)
    assert code(answer) is ErrorCode.inconsistent_group_protocol
    assert code(driver.sync(member_id, 1, protocol_type=None, protocol=None, version=4)) is ErrorCode.none


def test_a_wrong_protocol_comes_before_a_rebalance(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    assert code(driver.sync(follower, 1, protocol="sticky")) is ErrorCode.inconsistent_group_protocol
    assert code(driver.sync(follower, 1)) is ErrorCode.rebalance_in_progress


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_an_answer_can_be_written(driver: ClassicDriver, version: int) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    answer = driver.sync(leader, 1, {leader: b"mine"})
    for reply in (parked.result(), answer.result()):
        assert encode_response(SYNC_GROUP, version, 1, reply)


def _keep_alive(driver: ClassicDriver, generation: int, ms: int, *members: str) -> None:
    for _ in range(ms // 5_000):
        for member_id in members:
            driver.heartbeat(member_id, generation)
        driver.advance(5_000)
