from dataclasses import replace

from tests.unit.group.classic.classic_driver import (
    GROUP,
    SESSION_MS,
    SUBSCRIPTION,
    ClassicDriver,
    assignment,
)

from barnabas.base.errors import ErrorCode
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import STABLE
from barnabas.group.classic.member import ClassicMember
from barnabas.group.records import ClassicGroupMetadata, ClassicGroupValue, ClassicMemberValue
from barnabas.runtime.outcome import Outcome

OLD_MEMBER = ClassicMemberValue(
    member_id="m1",
    group_instance_id=None,
    client_id="c",
    client_host="/10.0.0.1",
    rebalance_timeout_ms=-1,
    session_timeout_ms=7_000,
    subscription=SUBSCRIPTION,
    assignment=b"mine",
)


def restarted(before: ClassicDriver) -> ClassicDriver:
    driver = ClassicDriver(before.clock)
    for record in before.records:
        driver.shard.replay(record)
    driver.classic.on_loaded()
    return driver


def test_a_stable_group_goes_on_after_a_restart(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    after = restarted(driver)
    assert after.state == "Stable"
    assert after.group.leader == leader
    assert after.heartbeat(follower, 1) is ErrorCode.none
    assert after.sync(follower, 1).result().assignment == assignment(follower)
    assert after.group.subscribed_topics == frozenset({"orders"})


def test_members_that_do_not_come_back_after_a_restart_are_removed(driver: ClassicDriver) -> None:
    driver.stable(2)
    after = restarted(driver)
    after.advance(SESSION_MS)
    assert after.state == "Empty"


def test_an_empty_group_is_empty_after_a_restart(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable(2))
    after = restarted(driver)
    assert (after.state, after.group.generation) == ("Empty", driver.group.generation)
    assert after.group.state_timestamp_ms == driver.group.state_timestamp_ms
    assert after.group.subscribed_topics == frozenset()


def test_a_rebalance_in_progress_is_the_last_stable_generation_after_a_restart(driver: ClassicDriver) -> None:
    leader, _ = driver.stable(2)
    driver.join(leader)
    after = restarted(driver)
    assert (after.state, after.group.generation) == ("Stable", 1)
    assert after.group.awaiting_joins == 0


def test_a_deleted_group_does_not_exist_after_a_restart(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable())
    driver.replay_tombstone()
    assert restarted(driver).groups.find(GROUP) is None


def test_replaying_twice_changes_nothing(driver: ClassicDriver) -> None:
    driver.stable(2)
    after = restarted(driver)
    before = after.classic.describe(after.group)
    for record in driver.records:
        after.shard.replay(record)
    assert after.classic.describe(after.group) == before


def test_members_of_old_records_have_the_session_timeout_for_a_rebalance_timeout(
    driver: ClassicDriver,
) -> None:
    value = ClassicGroupValue("consumer", 5, "range", "m1", -1, (OLD_MEMBER,))
    driver.classic.replay(ClassicGroupMetadata(GROUP, value))
    assert driver.group.rebalance_timeout_ms == 7_000
    assert driver.group.state_timestamp_ms is None


def test_the_leader_need_not_be_the_first_member(driver: ClassicDriver) -> None:
    members = (OLD_MEMBER, replace(OLD_MEMBER, member_id="m2"))
    value = ClassicGroupValue("consumer", 5, "range", "m2", -1, members)
    driver.classic.replay(ClassicGroupMetadata(GROUP, value))
    assert driver.group.leader == "m2"


def test_a_leader_that_is_not_a_member_is_replaced(driver: ClassicDriver) -> None:
    value = ClassicGroupValue("consumer", 5, "range", "removed", -1, (OLD_MEMBER,))
    driver.classic.replay(ClassicGroupMetadata(GROUP, value))
    assert driver.group.leader == "m1"


def test_a_group_made_from_another_kind_is_installed_when_its_record_is_replayed(
    driver: ClassicDriver,
) -> None:
    group = ClassicGroup(GROUP, driver.clock, STABLE)
    group.generation = 7
    protocols = (("range", SUBSCRIPTION), ("sticky", SUBSCRIPTION))
    group.add(ClassicMember("m1", None, "c", "/h", 60_000, SESSION_MS, "consumer", protocols))
    group.protocol = group.select_protocol()
    value = group.stable_value({"m1": b"mine"})
    record = ClassicGroupMetadata(GROUP, value)
    driver.run(Outcome(None, [record], on_replayed=lambda: driver.classic.install(group, value)))
    assert driver.group is group
    assert driver.sync("m1", 7).result().assignment == b"mine"
    assert driver.group.members["m1"].protocols == protocols
    driver.advance(SESSION_MS)
    assert driver.state == "Empty"


def test_a_released_group_has_answered_all_requests(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    driver.classic.release(driver.group, ErrorCode.rebalance_in_progress)
    assert parked.result().error_code is ErrorCode.rebalance_in_progress
    assert len(driver.environment.timers) == 0
    assert leader in driver.group.members


def test_a_member_that_stays_keeps_what_its_record_does_not_have(driver: ClassicDriver) -> None:
    group = ClassicGroup(GROUP, driver.clock, STABLE)
    protocols = (("range", SUBSCRIPTION), ("sticky", SUBSCRIPTION))
    group.add(ClassicMember("m1", None, "c", "/10.0.0.1", 7_000, 7_000, "consumer", protocols))
    written = replace(OLD_MEMBER, rebalance_timeout_ms=7_000)
    group.replay(ClassicGroupValue("consumer", 5, "range", "m1", -1, (written,)))
    assert group.members["m1"].assignment == b"mine"
    assert group.members["m1"].protocols == protocols
    changed = replace(written, subscription=b"changed")
    group.replay(ClassicGroupValue("consumer", 6, "range", "m1", -1, (changed,)))
    assert list(group.members["m1"].protocols) == [("range", b"changed")]
    assert group.supported_protocols == {"range": 1}


def test_members_are_in_the_order_of_the_record_live_and_at_load(driver: ClassicDriver) -> None:
    members = tuple(replace(OLD_MEMBER, member_id=name) for name in ("m3", "m1", "m2"))
    value = ClassicGroupValue("consumer", 5, "range", "m1", -1, members)
    driver.classic.replay(ClassicGroupMetadata(GROUP, value))
    fewer = ClassicGroupValue("consumer", 6, "range", "removed", -1, (members[2], members[0]))
    driver.classic.replay(ClassicGroupMetadata(GROUP, fewer))
    assert list(driver.group.members) == ["m2", "m3"]
    assert driver.group.leader == "m2"
