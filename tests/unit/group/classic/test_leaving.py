import logging

import pytest
from tests.unit.group.classic.classic_driver import GROUP, INITIAL_DELAY_MS, ClassicDriver, code

from barnabas.base.errors import ErrorCode
from barnabas.wire import encode_response

LEAVE_GROUP = 13


def test_a_member_that_leaves_makes_the_others_rebalance(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    (reply,) = driver.leave(leader).result().members
    assert (reply.member_id, reply.group_instance_id, reply.error_code) == (leader, None, ErrorCode.none)
    assert driver.state == "PreparingRebalance"
    assert driver.group.leader == follower
    assert driver.join(follower).result().generation_id == 2


def test_the_last_member_leaves_an_empty_group_with_a_new_generation(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable())
    group = driver.group
    assert (driver.state, group.generation, group.protocol, group.leader) == ("Empty", 2, None, None)
    value = driver.records[-1].value
    assert (value.generation, value.members, value.leader, value.protocol) == (2, (), None, None)


def test_several_members_leave_at_once_with_an_error_each(driver: ClassicDriver) -> None:
    members = driver.stable(3)
    replies = driver.leave(members[1], "unknown", members[2]).result().members
    assert [reply.error_code for reply in replies] == [
        ErrorCode.none,
        ErrorCode.unknown_member_id,
        ErrorCode.none,
    ]
    assert list(driver.group.members) == members[:1]


def test_nothing_happens_when_only_unknown_members_leave(driver: ClassicDriver) -> None:
    driver.stable()
    response = driver.leave("unknown", "").result()
    assert response.error_code is ErrorCode.none
    assert [reply.error_code for reply in response.members] == [ErrorCode.unknown_member_id] * 2
    assert driver.state == "Stable"


def test_a_parked_join_fails_when_its_member_leaves(driver: ClassicDriver) -> None:
    leader, _ = driver.stable(2)
    parked = driver.join(leader)
    driver.leave(leader)
    assert (code(parked), parked.result().member_id) == (ErrorCode.unknown_member_id, "")


def test_a_parked_sync_fails_when_its_member_leaves(driver: ClassicDriver) -> None:
    _, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    driver.leave(follower)
    assert code(parked) is ErrorCode.unknown_member_id


def test_a_rebalance_goes_on_when_the_member_it_waited_for_leaves(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    answer = driver.join(leader)
    driver.leave(follower)
    assert answer.result().generation_id == 2


def test_a_pending_member_may_leave(driver: ClassicDriver) -> None:
    (leader,) = driver.stable()
    pending = driver.join().result().member_id
    answer = driver.join(leader)
    assert driver.leave(pending).result().members[0].error_code is ErrorCode.none
    assert not driver.group.pending_members
    assert answer.result().generation_id == 2


def test_an_administrator_removes_a_static_member_by_its_instance_id(driver: ClassicDriver) -> None:
    driver.join(instance="i1")
    driver.advance(INITIAL_DELAY_MS)
    (reply,) = driver.leave("", instance="i1").result().members
    assert (reply.member_id, reply.group_instance_id, reply.error_code) == ("", "i1", ErrorCode.none)
    assert driver.state == "Empty"


def test_an_instance_that_is_not_there_is_unknown(driver: ClassicDriver) -> None:
    driver.stable()
    (reply,) = driver.leave("", instance="i1").result().members
    assert reply.error_code is ErrorCode.unknown_member_id


def test_all_members_of_a_missing_group_are_unknown(driver: ClassicDriver) -> None:
    response = driver.leave("m1", "m2").result()
    assert response.error_code is ErrorCode.none
    assert [reply.error_code for reply in response.members] == [ErrorCode.unknown_member_id] * 2
    assert driver.groups.find(GROUP) is None


def test_an_empty_group_id_is_refused(driver: ClassicDriver) -> None:
    assert code(driver.leave("m", group_id="")) is ErrorCode.invalid_group_id


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_an_answer_can_be_written(driver: ClassicDriver, version: int) -> None:
    (member_id,) = driver.stable()
    assert encode_response(LEAVE_GROUP, version, 1, driver.leave(member_id).result())


def test_the_reason_of_a_client_is_logged(driver: ClassicDriver, caplog: pytest.LogCaptureFixture) -> None:
    members = driver.stable()
    with caplog.at_level(logging.INFO):
        driver.leave(*members)
    assert "client reason: the test says so" in caplog.text
