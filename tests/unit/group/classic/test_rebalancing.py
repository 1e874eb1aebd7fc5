from tests.unit.group.classic.classic_driver import (
    GROUP,
    INITIAL_DELAY_MS,
    REBALANCE_MS,
    SESSION_MS,
    ClassicDriver,
    assignment,
    code,
)

from barnabas.base.errors import ErrorCode
from barnabas.group.classic.rebalances import sync_key

LONG_SESSION_MS = 1_000_000


def test_a_new_member_makes_a_stable_group_rebalance(driver: ClassicDriver) -> None:
    members = driver.stable(2)
    new = driver.joining()
    assert driver.state == "PreparingRebalance"
    answers = new | {each: driver.join(each) for each in members}
    assert {answer.result().generation_id for answer in answers.values()} == {2}
    assert set(driver.group.members) == set(answers)
    assert driver.group.leader == members[0]


def test_a_rebalance_waits_for_pending_members(driver: ClassicDriver) -> None:
    leader = driver.stable()[0]
    pending = driver.join().result().member_id
    answer = driver.join(leader)
    assert not answer.is_done
    driver.join(pending)
    assert answer.result().generation_id == 2


def test_a_rebalance_waits_no_longer_when_the_pending_member_is_forgotten(driver: ClassicDriver) -> None:
    leader = driver.stable()[0]
    driver.join()
    answer = driver.join(leader)
    driver.advance(SESSION_MS)
    assert answer.result().generation_id == 2


def test_members_that_do_not_rejoin_in_time_are_removed(driver: ClassicDriver) -> None:
    leader, absent = driver.stable(2, session_ms=LONG_SESSION_MS)
    answer = driver.join(leader, session_ms=LONG_SESSION_MS)
    driver.advance(REBALANCE_MS - 1)
    assert not answer.is_done
    driver.advance(1)
    assert [each.member_id for each in answer.result().members] == [leader]
    assert driver.heartbeat(absent, 1) is ErrorCode.unknown_member_id


def test_the_longest_rebalance_timeout_of_all_members_counts(driver: ClassicDriver) -> None:
    answers = driver.joining(1, session_ms=LONG_SESSION_MS) | driver.joining(
        1, session_ms=LONG_SESSION_MS, rebalance_ms=2 * REBALANCE_MS
    )
    driver.advance(2 * INITIAL_DELAY_MS)
    first, _ = answers
    driver.sync_all(list(answers), 1)
    answer = driver.join(first, session_ms=LONG_SESSION_MS)
    driver.advance(REBALANCE_MS)
    assert not answer.is_done
    driver.advance(REBALANCE_MS)
    assert code(answer) is ErrorCode.none


def test_another_member_leads_when_the_leader_does_not_rejoin(driver: ClassicDriver) -> None:
    _, follower = driver.stable(2, session_ms=LONG_SESSION_MS)
    answer = driver.join(follower, protocols={"range": b"other"}, session_ms=LONG_SESSION_MS)
    driver.advance(REBALANCE_MS)
    reply = answer.result()
    assert reply.leader == reply.member_id == follower
    assert [each.member_id for each in reply.members] == [follower]


def test_a_static_leader_that_does_not_rejoin_stays_but_leads_no_more(driver: ClassicDriver) -> None:
    absent = driver.join(instance="i1", session_ms=LONG_SESSION_MS)
    present = driver.join(instance="i2", session_ms=LONG_SESSION_MS)
    driver.advance(2 * INITIAL_DELAY_MS)
    first, second = absent.result().member_id, present.result().member_id
    driver.sync_all([first, second], 1)
    answer = driver.join(second, instance="i2", protocols={"range": b"other"}, session_ms=LONG_SESSION_MS)
    driver.advance(REBALANCE_MS)
    reply = answer.result()
    assert reply.leader == second
    assert [each.member_id for each in reply.members] == [first, second]
    assert driver.group.static_members == {"i1": first, "i2": second}


def test_if_no_member_rejoins_the_group_waits_until_its_static_members_have_expired(
    driver: ClassicDriver,
) -> None:
    answers = [driver.join(instance=each, session_ms=6 * REBALANCE_MS) for each in ("i1", "i2")]
    driver.advance(2 * INITIAL_DELAY_MS)
    first, second = (answer.result().member_id for answer in answers)
    driver.sync_all([first, second], 1)
    driver.leave(first)
    driver.advance(5 * REBALANCE_MS)
    assert driver.state == "PreparingRebalance"
    assert list(driver.group.members) == [second]
    driver.advance(REBALANCE_MS)
    assert driver.state == "Empty"
    assert driver.group.generation == 2


def test_a_rebalance_that_begins_again_takes_the_old_assignments_away(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    driver.join(follower)
    assert driver.group.members[follower].assignment == assignment(follower)
    driver.leave(leader)
    assert driver.state == "PreparingRebalance"
    assert driver.group.members[follower].assignment == b""


def test_a_rebalance_that_begins_again_waits_for_no_sync(driver: ClassicDriver) -> None:
    leader, _ = driver.completing(2)
    assert driver.environment.timers.is_scheduled(sync_key(GROUP))
    driver.leave(leader)
    assert not driver.group.pending_sync_members
    assert not driver.environment.timers.is_scheduled(sync_key(GROUP))


def test_the_generation_grows_with_every_rebalance(driver: ClassicDriver) -> None:
    leader = driver.stable()[0]
    for generation in range(2, 6):
        assert driver.join(leader).result().generation_id == generation
        assert code(driver.sync_all([leader], generation)[leader]) is ErrorCode.none


def test_pending_members_do_not_keep_a_group_from_becoming_empty(driver: ClassicDriver) -> None:
    leader = driver.stable()[0]
    pending = driver.join().result().member_id
    driver.leave(leader)
    driver.advance(0)
    assert driver.state == "Empty"
    assert set(driver.group.pending_members) == {pending}
    assert not driver.join(pending).is_done
