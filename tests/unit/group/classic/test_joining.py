import logging
from datetime import timedelta

import pytest
from kio.schema.join_group.v9.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.types import GroupId
from kio.static.primitive import i32Timedelta
from tests.unit.group.classic.classic_driver import (
    GROUP,
    INITIAL_DELAY_MS,
    SESSION_MS,
    SUBSCRIPTION,
    ClassicDriver,
    code,
)
from tests.unit.group.shard_driver import ShardDriver, shard_environment

from barnabas.base.clock import ManualClock
from barnabas.base.errors import ErrorCode
from barnabas.group.classic.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from barnabas.group.environment import RequestContext
from barnabas.group.group import CLASSIC, CONSUMER
from barnabas.group.records import (
    ClassicGroupMetadata,
    ClassicGroupValue,
    ConsumerGroupMetadata,
    ConsumerGroupValue,
)
from barnabas.group.shard import GroupShard
from barnabas.runtime.outcome import Outcome
from barnabas.wire import encode_response

JOIN_GROUP = 11


def join_request(*protocols: tuple[str, bytes]) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GroupId(GROUP),
        session_timeout=i32Timedelta.parse(timedelta(milliseconds=SESSION_MS)),
        member_id="",
        protocol_type="consumer",
        protocols=tuple(
            JoinGroupRequestProtocol(name=name, metadata=metadata)
            for name, metadata in protocols or [("range", SUBSCRIPTION)]
        ),
    )


def test_an_empty_group_id_is_refused(driver: ClassicDriver) -> None:
    assert code(driver.join(group_id="")) is ErrorCode.invalid_group_id


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_timeout_out_of_bounds_is_refused(driver: ClassicDriver, session_ms: int) -> None:
    assert code(driver.join(session_ms=session_ms)) is ErrorCode.invalid_session_timeout
    assert driver.groups.find(GROUP) is None


def test_a_known_member_id_cannot_join_a_group_that_is_not_there(driver: ClassicDriver) -> None:
    assert code(driver.join("client-1")) is ErrorCode.unknown_member_id
    assert driver.groups.find(GROUP) is None
    assert driver.records == []


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", {"range": b""}), ("consumer", {})])
def test_a_join_without_protocols_is_refused_and_makes_no_group(
    driver: ClassicDriver, protocol_type: str, protocols: dict[str, bytes]
) -> None:
    answer = driver.join(protocol_type=protocol_type, protocols=protocols)
    assert code(answer) is ErrorCode.inconsistent_group_protocol
    assert driver.groups.find(GROUP) is None


def test_a_new_member_is_given_an_id_to_join_with(driver: ClassicDriver) -> None:
    reply = driver.join(client="teller").result()
    assert reply.error_code is ErrorCode.member_id_required
    assert reply.member_id.startswith("teller-")
    assert driver.state == "Empty"
    assert driver.group.members == {}
    assert set(driver.group.pending_members) == {reply.member_id}


def test_a_new_group_is_written_before_a_member_has_joined(driver: ClassicDriver) -> None:
    driver.join()
    now_ms = driver.clock.now_ms()
    assert driver.records == [ClassicGroupMetadata(GROUP, ClassicGroupValue("", 0, None, None, now_ms, ()))]


def test_a_pending_member_is_forgotten_after_its_session_timeout(driver: ClassicDriver) -> None:
    member_id = driver.join().result().member_id
    driver.advance(SESSION_MS - 1)
    assert set(driver.group.pending_members) == {member_id}
    driver.advance(1)
    assert not driver.group.pending_members
    assert code(driver.join(member_id)) is ErrorCode.unknown_member_id


def test_a_pending_member_is_not_a_static_one(driver: ClassicDriver) -> None:
    member_id = driver.join().result().member_id
    assert code(driver.join(member_id, instance="i1")) is ErrorCode.invalid_request


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_old_clients_join_at_once(driver: ClassicDriver, version: int) -> None:
    answer = driver.join(version=version)
    assert not answer.is_done
    driver.advance(INITIAL_DELAY_MS)
    reply = answer.result()
    assert reply.error_code is ErrorCode.none
    assert reply.generation_id == 1
    assert reply.leader == reply.member_id


def test_version_0_has_the_session_timeout_for_a_rebalance_timeout(driver: ClassicDriver) -> None:
    driver.join(version=0, session_ms=7_000, rebalance_ms=-1)
    assert driver.group.rebalance_timeout_ms == 7_000


def test_the_first_member_leads_and_gets_to_know_the_others(driver: ClassicDriver) -> None:
    answers = driver.joining(3)
    driver.advance(2 * INITIAL_DELAY_MS)
    first, *others = answers
    leader = answers[first].result()
    assert leader.member_id == leader.leader == first
    assert [(each.member_id, each.metadata) for each in leader.members] == [
        (member_id, SUBSCRIPTION) for member_id in answers
    ]
    for member_id in others:
        reply = answers[member_id].result()
        assert (reply.member_id, reply.leader, reply.members) == (member_id, first, ())
        assert (reply.protocol_type, reply.protocol_name, reply.generation_id) == ("consumer", "range", 1)
        assert reply.skip_assignment is False


@pytest.mark.parametrize("version", range(10))
def test_every_version_of_an_answer_can_be_written(driver: ClassicDriver, version: int) -> None:
    answers = driver.joining(2)
    driver.advance(2 * INITIAL_DELAY_MS)
    for answer in answers.values():
        assert encode_response(JOIN_GROUP, version, 1, answer.result())


def test_a_refusal_can_be_written(driver: ClassicDriver) -> None:
    assert encode_response(JOIN_GROUP, 9, 1, driver.join().result())


def test_a_member_with_no_protocol_in_common_is_refused(driver: ClassicDriver) -> None:
    driver.stable()
    assert code(driver.join(protocols={"sticky": b""})) is ErrorCode.inconsistent_group_protocol
    assert code(driver.join(protocol_type="connect")) is ErrorCode.inconsistent_group_protocol


def test_members_vote_for_the_protocol_that_all_of_them_support(driver: ClassicDriver) -> None:
    votes = [["range", "sticky"], ["sticky", "range", "roundrobin"], ["sticky", "range"]]
    answers = [driver.join(version=3, protocols={name: name.encode() for name in names}) for names in votes]
    driver.advance(2 * INITIAL_DELAY_MS)
    assert {answer.result().protocol_name for answer in answers} == {"sticky"}
    assert [each.metadata for each in answers[0].result().members] == [b"sticky"] * 3


def test_a_protocol_named_twice_counts_once(driver: ClassicDriver) -> None:
    body = join_request(("range", b"first"), ("range", b"second"))
    driver.call(driver.classic.join, RequestContext(3, "client", "/127.0.0.1"), body)
    (member,) = driver.group.members.values()
    assert member.protocols == (("range", b"first"),)
    assert driver.group.supported_protocols == {"range": 1}


def test_a_new_member_that_waits_too_long_has_to_join_again(driver: ClassicDriver) -> None:
    first = driver.stable(rebalance_ms=2 * NEW_MEMBER_JOIN_TIMEOUT_MS)[0]
    answer = driver.join(version=3)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000):
        driver.heartbeat(first, 1)
        driver.advance(5_000)
    reply = answer.result()
    assert (reply.error_code, reply.member_id) == (ErrorCode.unknown_member_id, "")


def test_the_reason_of_a_client_is_logged(driver: ClassicDriver, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        driver.join(version=3, reason="I was lonely")
    assert "client reason: I was lonely" in caplog.text


def test_members_join_a_group_that_only_held_offsets(driver: ClassicDriver) -> None:
    assert driver.classic.create_simple_group(GROUP).is_simple
    driver.stable()
    assert driver.group.protocol_type == "consumer"
    assert not driver.group.is_simple


def test_an_empty_group_of_the_other_protocol_gives_way() -> None:
    environment = shard_environment(ManualClock())
    shard = GroupShard(environment)
    driver = ShardDriver(shard, environment)
    driver.run(Outcome(None, [ConsumerGroupMetadata(GROUP, ConsumerGroupValue(epoch=3))]))
    assert shard.groups.get(GROUP).type == CONSUMER
    driver.call(shard.join_group, RequestContext(9, "client", "/127.0.0.1"), join_request())
    assert shard.groups.get(GROUP).type == CLASSIC
    assert ConsumerGroupMetadata(GROUP, None) in driver.records
    after = GroupShard(environment)
    for record in driver.records:
        after.replay(record)
    assert after.groups.get(GROUP).type == CLASSIC


def test_a_dead_group_sends_members_to_another_coordinator(driver: ClassicDriver) -> None:
    member_id = driver.stable()[0]
    group = driver.group
    driver.replay_tombstone()
    driver.groups.put(group)
    assert code(driver.join()) is ErrorCode.coordinator_not_available
    assert code(driver.sync(member_id, 1)) is ErrorCode.coordinator_not_available
    assert driver.heartbeat(member_id, 1) is ErrorCode.coordinator_not_available
    assert code(driver.leave(member_id)) is ErrorCode.coordinator_not_available


# --- members that join again -----------------------------------------------------------------------------


def test_a_follower_that_joins_a_stable_group_unchanged_stays_in_the_generation(
    driver: ClassicDriver,
) -> None:
    leader, follower = driver.stable(2)
    reply = driver.join(follower).result()
    assert (reply.error_code, reply.generation_id) == (ErrorCode.none, 1)
    assert (reply.leader, reply.members) == (leader, ())
    assert driver.state == "Stable"


def test_a_follower_with_new_metadata_makes_a_stable_group_rebalance(driver: ClassicDriver) -> None:
    _, follower = driver.stable(2)
    assert not driver.join(follower, protocols={"range": b"other"}).is_done
    assert driver.state == "PreparingRebalance"


def test_the_leader_makes_a_stable_group_rebalance(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    answer = driver.join(leader)
    assert not answer.is_done
    assert driver.heartbeat(follower, 1) is ErrorCode.rebalance_in_progress
    reply = driver.join(follower).result()
    assert reply.generation_id == answer.result().generation_id == 2
    assert driver.state == "CompletingRebalance"


def test_a_member_that_missed_the_answer_gets_it_again(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    assert [each.member_id for each in driver.join(leader).result().members] == [leader, follower]
    assert driver.join(follower).result().members == ()
    assert driver.state == "CompletingRebalance"


def test_new_metadata_before_the_assignment_begins_the_rebalance_anew(driver: ClassicDriver) -> None:
    leader, follower = driver.completing(2)
    parked = driver.sync(follower, 1)
    assert not driver.join(leader, protocols={"range": b"other"}).is_done
    assert code(parked) is ErrorCode.rebalance_in_progress
    assert driver.state == "PreparingRebalance"


def test_an_unknown_member_cannot_join_again(driver: ClassicDriver) -> None:
    driver.stable()
    assert code(driver.join("unknown")) is ErrorCode.unknown_member_id


def test_a_member_that_joins_twice_gives_up_its_first_request(driver: ClassicDriver) -> None:
    leader, _ = driver.stable(2)
    first, second = driver.join(leader), driver.join(leader)
    assert code(first) is ErrorCode.rebalance_in_progress
    assert not second.is_done
    assert driver.group.awaiting_joins == 1
