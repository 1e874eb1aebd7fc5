import pytest
from tests.unit.group.classic.classic_driver import SESSION_MS, ClassicDriver, code

from barnabas.base.errors import ErrorCode


@pytest.fixture
def driver() -> ClassicDriver:
    return ClassicDriver(max_size=2)


def test_a_full_group_refuses_new_members(driver: ClassicDriver) -> None:
    driver.stable(2)
    reply = driver.join().result()
    assert (reply.error_code, reply.member_id) == (ErrorCode.group_max_size_reached, "")
    assert driver.state == "Stable"
    assert not driver.group.pending_members


def test_members_of_a_full_group_may_join_again(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    answers = [driver.join(leader), driver.join(follower)]
    assert [code(answer) for answer in answers] == [ErrorCode.none] * 2


def test_more_members_may_request_an_id_than_may_join(driver: ClassicDriver) -> None:
    pending = [driver.join().result().member_id for _ in range(3)]
    answers = [driver.join(each) for each in pending]
    assert [answer.is_done for answer in answers] == [False, False, True]
    assert code(answers[2]) is ErrorCode.group_max_size_reached
    assert set(driver.group.members) == set(pending[:2])
    assert not driver.group.pending_members


def test_a_group_that_was_loaded_too_large_rejects_the_members_that_join_last() -> None:
    before = ClassicDriver()
    members = before.stable(3)
    driver = ClassicDriver(before.clock, max_size=2)
    for record in before.records:
        driver.shard.replay(record)
    driver.classic.on_loaded()
    assert driver.state == "PreparingRebalance"
    assert driver.heartbeat(members[2], 1) is ErrorCode.rebalance_in_progress
    answers = [driver.join(each) for each in members]
    assert code(answers[2]) is ErrorCode.group_max_size_reached
    assert [each.member_id for each in answers[0].result().members] == members[:2]
    driver.advance(SESSION_MS - 1)
    assert driver.state == "CompletingRebalance"
