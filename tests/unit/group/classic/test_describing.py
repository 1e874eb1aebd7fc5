import pytest
from tests.unit.group.classic.classic_driver import GROUP, SUBSCRIPTION, ClassicDriver, assignment

from barnabas.wire import Reply, encode_response

DESCRIBE_GROUPS = 15


def test_a_stable_group_shows_what_its_members_joined_with(driver: ClassicDriver) -> None:
    (member_id,) = driver.stable()
    reply = driver.classic.describe(driver.group)
    assert (reply.group_id, reply.group_state) == (GROUP, "Stable")
    assert (reply.protocol_type, reply.protocol_data) == ("consumer", "range")
    (member,) = reply.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "client", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (SUBSCRIPTION, assignment(member_id))


def test_a_group_that_rebalances_shows_its_members_only(driver: ClassicDriver) -> None:
    (member_id,) = driver.completing()
    reply = driver.classic.describe(driver.group)
    assert (reply.group_state, reply.protocol_data) == ("CompletingRebalance", "")
    assert [(each.member_id, each.member_metadata) for each in reply.members] == [(member_id, b"")]


def test_an_empty_group_shows_its_protocol_type(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable())
    reply = driver.classic.describe(driver.group)
    assert (reply.group_state, reply.protocol_type, reply.protocol_data) == ("Empty", "consumer", "")
    assert reply.members == ()


@pytest.mark.parametrize("version", range(7))
def test_every_version_of_an_answer_can_be_written(driver: ClassicDriver, version: int) -> None:
    driver.stable()
    assert encode_response(
        DESCRIBE_GROUPS, version, 1, Reply(groups=(driver.classic.describe(driver.group),))
    )
