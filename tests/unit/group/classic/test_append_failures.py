from tests.unit.group.classic.classic_driver import GROUP, INITIAL_DELAY_MS, ClassicDriver, code

from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode, NotCoordinator
from barnabas.group.classic.rebalances import RETRY_MS


def test_an_assignment_that_cannot_be_written_makes_the_group_rebalance(driver: ClassicDriver) -> None:
    members = driver.completing(2)
    driver.fail_next(CoordinatorNotAvailable())
    answers = driver.sync_all(members, 1)
    assert {code(answer) for answer in answers.values()} == {ErrorCode.coordinator_not_available}
    assert driver.state == "PreparingRebalance"
    assert {each.assignment for each in driver.group.members.values()} == {b""}
    again = [driver.join(each) for each in members]
    assert {answer.result().generation_id for answer in again} == {2}


def test_an_assignment_that_is_not_committed_makes_the_group_rebalance(driver: ClassicDriver) -> None:
    members = driver.completing(2)
    driver.hold_commits()
    answers = driver.sync_all(members, 1)
    driver.commit(CoordinatorNotAvailable())
    assert {code(answer) for answer in answers.values()} == {ErrorCode.coordinator_not_available}
    assert driver.state == "PreparingRebalance"


def test_a_new_group_that_cannot_be_written_does_not_exist(driver: ClassicDriver) -> None:
    driver.fail_next(CoordinatorNotAvailable())
    assert code(driver.join()) is ErrorCode.coordinator_not_available
    assert driver.groups.find(GROUP) is None
    assert len(driver.environment.timers) == 0


def test_a_join_parked_in_a_group_that_cannot_be_written_is_answered(driver: ClassicDriver) -> None:
    driver.fail_next(CoordinatorNotAvailable())
    answer = driver.join(version=3)
    assert code(answer) is ErrorCode.coordinator_not_available
    assert driver.groups.find(GROUP) is None
    assert len(driver.environment.timers) == 0


def test_a_new_group_that_is_not_committed_stays(driver: ClassicDriver) -> None:
    driver.hold_commits()
    answer = driver.join()
    driver.commit(CoordinatorNotAvailable())
    assert code(answer) is ErrorCode.coordinator_not_available
    assert driver.state == "Empty"


def test_that_a_group_is_empty_is_written_later_if_it_cannot_be_now(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    driver.fail_next(CoordinatorNotAvailable(), times=2)
    assert code(driver.leave(member_id)) is ErrorCode.coordinator_not_available
    assert (driver.state, driver.group.generation) == ("PreparingRebalance", 1)
    driver.advance(RETRY_MS)
    assert driver.state == "PreparingRebalance"
    driver.advance(RETRY_MS)
    assert (driver.state, driver.group.generation) == ("Empty", 2)
    assert len(driver.environment.timers) == 0


def test_members_join_a_group_whose_emptiness_could_not_be_written(driver: ClassicDriver) -> None:
    driver.fail_next(CoordinatorNotAvailable(), times=0)
    (member_id,) = driver.stable()
    driver.fail_next(CoordinatorNotAvailable())
    driver.leave(member_id)
    answer = driver.join(version=3)
    assert answer.result().generation_id == 2
    driver.advance(2 * RETRY_MS)
    assert driver.state == "CompletingRebalance"


def test_requests_that_failed_while_they_were_parked_do_no_harm(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    failed = driver.join(leader)
    failed.fail(CoordinatorNotAvailable())
    assert driver.join(follower).result().generation_id == 2
    assert driver.join(leader).result().generation_id == 2
    failed = driver.sync(follower, 2)
    failed.fail(CoordinatorNotAvailable())
    assert code(driver.sync(leader, 2)) is ErrorCode.none
    assert driver.state == "Stable"


def test_an_unloaded_group_fails_waiting_joins_with_not_coordinator(driver: ClassicDriver) -> None:
    joins = list(driver.joining(2).values())
    driver.classic.on_unloaded(NotCoordinator())
    assert [code(answer) for answer in joins] == [ErrorCode.not_coordinator] * 2
    assert driver.state == "Dead"


def test_an_unloaded_group_answers_waiting_syncs(driver: ClassicDriver) -> None:
    members = driver.completing(3)
    driver.hold_commits()
    syncs = driver.sync_all(members[:2], 1)
    driver.classic.on_unloaded(NotCoordinator())
    driver.commit(NotCoordinator())
    assert {code(answer) for answer in syncs.values()} == {ErrorCode.not_coordinator}
    driver.environment.timers.clear()
    driver.advance(10 * INITIAL_DELAY_MS)
    assert driver.state == "Dead"
