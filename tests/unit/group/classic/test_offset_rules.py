import pytest
from tests.unit.group.classic.classic_driver import GROUP, ClassicDriver

from barnabas.base.errors import (
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupIdNotFound,
    IllegalGeneration,
    KafkaError,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import DEAD
from barnabas.group.group import ALLOW
from barnabas.group.records import CommittedOffset

COMMITTED = CommittedOffset(5, -1, "", commit_timestamp_ms=1_000)


def commit(
    group: ClassicGroup,
    member_id: str = "",
    generation: int = -1,
    instance: str | None = None,
    *,
    is_transactional: bool = False,
) -> object:
    return group.validate_offset_commit(member_id, instance, generation, 9, is_transactional=is_transactional)


def dead(driver: ClassicDriver) -> ClassicGroup:
    group = driver.classic.create_simple_group(GROUP)
    group.transition_to(DEAD)
    return group


def test_members_commit_in_their_generation(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    assert commit(driver.group, member_id, 1) is ALLOW
    with pytest.raises(IllegalGeneration):
        commit(driver.group, member_id, 2)
    with pytest.raises(UnknownMemberId):
        commit(driver.group, "unknown", 1)
    with pytest.raises(UnknownMemberId):
        commit(driver.group, member_id, 1, "i1")


def test_a_fenced_static_member_cannot_commit(driver: ClassicDriver) -> None:
    driver.join(instance="i1")
    with pytest.raises(FencedInstanceId):
        commit(driver.group, "i1-old", 1, "i1")


def test_a_standalone_consumer_commits_only_to_a_group_without_members(driver: ClassicDriver) -> None:
    driver.join()
    assert commit(driver.group) is ALLOW
    driver.stable()
    with pytest.raises(UnknownMemberId):
        commit(driver.group)
    assert commit(driver.group, is_transactional=True) is ALLOW


def test_members_commit_while_they_prepare_to_rebalance_but_not_before_the_assignment(
    driver: ClassicDriver,
) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    assert commit(driver.group, follower, 1) is ALLOW
    driver.join(follower)
    with pytest.raises(RebalanceInProgress):
        commit(driver.group, leader, 2)
    assert commit(driver.group, leader, 2, is_transactional=True) is ALLOW


def test_a_dead_group_takes_no_commits(driver: ClassicDriver) -> None:
    with pytest.raises(CoordinatorNotAvailable):
        commit(dead(driver))


def test_offsets_of_consumers_may_be_deleted_while_the_group_has_members(driver: ClassicDriver) -> None:
    driver.stable()
    driver.group.validate_offset_delete()
    driver.group.validate_offset_fetch(None, -1)
    with pytest.raises(NonEmptyGroup):
        driver.group.validate_delete()


def test_offsets_of_other_members_may_not_be_deleted(driver: ClassicDriver) -> None:
    driver.join(version=3, protocol_type="connect")
    with pytest.raises(NonEmptyGroup):
        driver.group.validate_offset_delete()


def test_an_empty_group_may_be_deleted(driver: ClassicDriver) -> None:
    driver.join()
    driver.group.validate_offset_delete()
    driver.group.validate_delete()


@pytest.mark.parametrize("name", ["validate_delete", "validate_offset_delete"])
def test_a_dead_group_is_not_found(driver: ClassicDriver, name: str) -> None:
    group = dead(driver)
    with pytest.raises(GroupIdNotFound):
        getattr(group, name)()
    with pytest.raises(KafkaError):
        group.validate_offset_fetch(None, -1)


# --- subscriptions and expiry ----------------------------------------------------------------------------


def test_a_group_of_consumers_is_subscribed_to_what_its_members_want(driver: ClassicDriver) -> None:
    driver.stable()
    assert driver.group.is_subscribed_to("orders")
    assert not driver.group.is_subscribed_to("payments")


def test_consumers_whose_topics_cannot_be_read_may_want_every_topic(driver: ClassicDriver) -> None:
    driver.stable(protocols={"range": b"\x00"})
    assert driver.group.is_subscribed_to("payments")
    assert driver.group.expiration_condition() is None


def test_members_of_another_type_are_subscribed_to_nothing(driver: ClassicDriver) -> None:
    driver.join(version=3, protocol_type="connect")
    driver.advance(6_000)
    assert driver.group.generation == 1
    assert not driver.group.is_subscribed_to("orders")


def test_offsets_of_a_group_without_members_expire_by_their_commit(driver: ClassicDriver) -> None:
    condition = driver.classic.create_simple_group(GROUP).expiration_condition()
    assert condition is not None
    assert not condition.is_expired(COMMITTED, 1_099, 100)
    assert condition.is_expired(COMMITTED, 1_100, 100)


def test_offsets_of_an_empty_group_expire_by_when_it_became_empty(driver: ClassicDriver) -> None:
    members = driver.stable()
    driver.advance(5_000)
    driver.leave(*members)
    emptied_ms = driver.clock.now_ms()
    condition = driver.group.expiration_condition()
    assert condition is not None
    assert condition.base_timestamp_ms(COMMITTED) == emptied_ms
    driver.group.state_timestamp_ms = None
    assert condition.base_timestamp_ms(COMMITTED) == 1_000


def test_offsets_of_a_stable_group_of_consumers_expire_by_their_commit(driver: ClassicDriver) -> None:
    driver.stable()
    condition = driver.group.expiration_condition()
    assert condition is not None
    assert condition.base_timestamp_ms(COMMITTED) == 1_000


def test_no_offset_expires_during_a_rebalance(driver: ClassicDriver) -> None:
    driver.completing()
    assert driver.group.expiration_condition() is None
