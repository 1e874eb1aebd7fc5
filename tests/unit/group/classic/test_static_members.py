import pytest
from tests.unit.group.classic.classic_driver import (
    INITIAL_DELAY_MS,
    REBALANCE_MS,
    SESSION_MS,
    ClassicDriver,
    assignment,
    code,
)

from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode
from barnabas.wire import Reply


@pytest.fixture
def members(driver: ClassicDriver) -> list[str]:
    """The member ids of i1, which leads, and i2 in a stable group."""
    answers = [driver.join(instance=each) for each in ("i1", "i2")]
    driver.advance(2 * INITIAL_DELAY_MS)
    members = [answer.result().member_id for answer in answers]
    driver.sync_all(members, 1)
    return members


def test_a_static_member_joins_without_being_given_an_id_first(driver: ClassicDriver) -> None:
    answer = driver.join(instance="i1", client="teller")
    assert not answer.is_done
    driver.advance(INITIAL_DELAY_MS)
    assert answer.result().member_id.startswith("i1-")


def test_a_static_member_rejoins_without_a_rebalance(driver: ClassicDriver, members: list[str]) -> None:
    reply = driver.join(instance="i2").result()
    assert (reply.error_code, reply.generation_id) == (ErrorCode.none, 1)
    assert reply.member_id not in members
    assert (reply.leader, reply.members, reply.skip_assignment) == (members[0], (), False)
    assert driver.state == "Stable"
    assert driver.sync(reply.member_id, 1, instance="i2").result().assignment == assignment(members[1])


def test_the_new_member_id_is_written(driver: ClassicDriver, members: list[str]) -> None:
    written = len(driver.records)
    member_id = driver.join(instance="i2", session_ms=SESSION_MS + 1).result().member_id
    (record,) = driver.records[written:]
    assert [each.member_id for each in record.value.members] == [members[0], member_id]
    assert record.value.members[1].session_timeout_ms == SESSION_MS + 1
    assert record.value.members[1].assignment == assignment(members[1])
    assert record.value.generation == 1


def test_a_leader_that_rejoins_must_not_assign(driver: ClassicDriver, members: list[str]) -> None:
    reply = driver.join(instance="i1", version=9).result()
    assert reply.leader == reply.member_id == driver.group.leader
    assert reply.skip_assignment is True
    assert {each.group_instance_id for each in reply.members} == {"i1", "i2"}


def test_an_older_leader_that_rejoins_does_not_learn_that_it_leads(
    driver: ClassicDriver, members: list[str]
) -> None:
    reply = driver.join(instance="i1", version=8).result()
    assert (reply.leader, reply.skip_assignment, reply.members) == (members[0], False, ())
    assert driver.group.leader == reply.member_id


def test_the_old_member_id_is_fenced(driver: ClassicDriver, members: list[str]) -> None:
    new = driver.join(instance="i2").result().member_id
    old = members[1]
    assert driver.heartbeat(old, 1, instance="i2") is ErrorCode.fenced_instance_id
    assert code(driver.sync(old, 1, instance="i2")) is ErrorCode.fenced_instance_id
    assert code(driver.join(old, instance="i2")) is ErrorCode.fenced_instance_id
    assert driver.leave(old, instance="i2").result().members[0].error_code is ErrorCode.fenced_instance_id
    assert driver.heartbeat(old, 1) is ErrorCode.unknown_member_id
    assert driver.heartbeat(new, 1, instance="i2") is ErrorCode.none


def test_an_unknown_instance_is_an_unknown_member(driver: ClassicDriver, members: list[str]) -> None:
    assert driver.heartbeat(members[0], 1, instance="i3") is ErrorCode.unknown_member_id


def test_a_new_protocol_choice_makes_the_group_rebalance(driver: ClassicDriver) -> None:
    both = {"range": b"", "sticky": b""}
    answer = driver.join(instance="i1", protocols=both)
    driver.advance(INITIAL_DELAY_MS)
    driver.sync_all([answer.result().member_id], 1)
    reply = driver.join(instance="i1", protocols={"sticky": b"", "range": b""}).result()
    assert (reply.generation_id, reply.protocol_name) == (2, "sticky")
    assert driver.state == "CompletingRebalance"


def test_during_a_rebalance_it_replaces_its_old_member_id(driver: ClassicDriver, members: list[str]) -> None:
    parked = driver.join(members[0], instance="i1")
    again = driver.join(instance="i1")
    assert (code(parked), parked.result().member_id) == (ErrorCode.fenced_instance_id, members[0])
    driver.join(members[1], instance="i2")
    reply = again.result()
    assert (reply.error_code, reply.generation_id, reply.leader) == (ErrorCode.none, 2, reply.member_id)


def test_before_the_assignment_the_rebalance_begins_again(driver: ClassicDriver) -> None:
    answers = [driver.join(instance=each) for each in ("i1", "i2")]
    driver.advance(2 * INITIAL_DELAY_MS)
    first, second = (answer.result().member_id for answer in answers)
    parked = driver.sync(second, 1, instance="i2")
    again = driver.join(instance="i2")
    assert code(parked) is ErrorCode.fenced_instance_id
    assert not again.is_done
    driver.join(first, instance="i1")
    assert again.result().generation_id == 2


def test_during_the_initial_delay_it_replaces_its_old_member_id(driver: ClassicDriver) -> None:
    parked, again = driver.join(instance="i1"), driver.join(instance="i1")
    assert code(parked) is ErrorCode.fenced_instance_id
    driver.advance(2 * INITIAL_DELAY_MS)
    assert again.result().generation_id == 1
    assert list(driver.group.members) == [again.result().member_id]


def test_the_session_of_the_old_member_id_is_over(driver: ClassicDriver, members: list[str]) -> None:
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(members[0], 1, instance="i1")
    new = driver.join(instance="i2").result().member_id
    driver.advance(SESSION_MS - 1)
    assert set(driver.group.members) == {members[0], new}
    driver.heartbeat(members[0], 1, instance="i1")
    driver.advance(1)
    assert list(driver.group.members) == [members[0]]


def test_no_deadline_is_left_of_the_old_member_id(driver: ClassicDriver, members: list[str]) -> None:
    driver.join(instance="i2")
    assert len(driver.environment.timers) == len(members)


@pytest.mark.parametrize("syncs", [True, False])
def test_it_still_has_to_sync_if_its_old_member_id_had_to(driver: ClassicDriver, syncs: bool) -> None:
    answers = [driver.join(instance=each, session_ms=2 * REBALANCE_MS) for each in ("i1", "i2")]
    driver.advance(2 * INITIAL_DELAY_MS)
    first, _ = (answer.result().member_id for answer in answers)
    driver.sync(first, 1, instance="i1")
    new = driver.join(instance="i2", session_ms=2 * REBALANCE_MS).result().member_id
    if syncs:
        driver.sync(new, 1, instance="i2")
    driver.advance(REBALANCE_MS)
    assert driver.state == ("Stable" if syncs else "PreparingRebalance")
    assert (new in driver.group.members) is syncs


def test_it_is_answered_when_its_new_id_is_committed(driver: ClassicDriver, members: list[str]) -> None:
    driver.hold_commits()
    answer = driver.join(instance="i2")
    assert not answer.is_done
    driver.commit()
    assert code(answer) is ErrorCode.none


def test_a_rebalance_before_the_commit_counts_it_as_joined(driver: ClassicDriver, members: list[str]) -> None:
    driver.hold_commits()
    answer = driver.join(instance="i2")
    driver.join(members[0], instance="i1")
    assert answer.result().generation_id == 2
    driver.commit()
    assert driver.state == "CompletingRebalance"


def test_if_the_new_id_cannot_be_written_the_old_one_stays(driver: ClassicDriver, members: list[str]) -> None:
    driver.fail_next(CoordinatorNotAvailable())
    reply: Reply = driver.join(instance="i2", protocols={"range": b"other"}, session_ms=20_000).result()
    assert (reply.error_code, reply.member_id) == (ErrorCode.coordinator_not_available, "")
    assert driver.group.static_members == {"i1": members[0], "i2": members[1]}
    assert driver.group.members[members[1]].session_timeout_ms == SESSION_MS
    assert driver.heartbeat(members[1], 1, instance="i2") is ErrorCode.none
    assert driver.state == "Stable"
    assert driver.group.awaiting_joins == 0


def test_if_the_new_id_is_not_committed_the_member_tries_again(
    driver: ClassicDriver, members: list[str]
) -> None:
    driver.hold_commits()
    answer = driver.join(instance="i2")
    driver.commit(CoordinatorNotAvailable())
    assert code(answer) is ErrorCode.coordinator_not_available
    assert driver.group.awaiting_joins == 0
    assert code(driver.join(instance="i2")) is ErrorCode.none


def test_a_static_member_that_stops_sending_heartbeats_is_removed(
    driver: ClassicDriver, members: list[str]
) -> None:
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(members[0], 1, instance="i1")
    driver.advance(1)
    assert driver.group.static_members == {"i1": members[0]}
