"""Members driven by answers that kio writes, without a socket."""

import pytest
from benchmarks import group_protocol
from benchmarks.group_members import ClassicMember, ConsumerMember, Member, is_stable
from benchmarks.protocol import UnexpectedAnswer
from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest
from kio.schema.errors import ErrorCode
from kio.schema.join_group.v9.request import JoinGroupRequest
from kio.schema.sync_group.v5.request import SyncGroupRequest
from tests.unit.benchmarks import group_answers
from tests.unit.benchmarks.kio_frames import parse


def settled_member(partitions: list[int], generation: int = 1) -> ClassicMember:
    member = ClassicMember("g", "t", 4)
    member.start()
    member.receive(group_answers.joined("m", generation=generation))
    assert member.receive(group_answers.synced(group_protocol.assignment("t", partitions))) is None
    return member


def test_classic_member_joins_again_with_the_id_it_was_given() -> None:
    member = ClassicMember("g", "t", 4)
    member.start()
    again = member.receive(group_answers.joined("given", error=ErrorCode.member_id_required))
    assert again is not None
    request: JoinGroupRequest = parse(JoinGroupRequest, again)
    assert request.member_id == "given"


def test_classic_leader_deals_out_every_partition_once() -> None:
    member = ClassicMember("g", "t", 5)
    member.start()
    request = member.receive(group_answers.joined("a", leader="a", members=["b", "a"]))
    assert request is not None
    sync: SyncGroupRequest = parse(SyncGroupRequest, request)
    dealt = {given.member_id: group_protocol.parse_assignment(given.assignment) for given in sync.assignments}
    assert dealt == {"a": {0, 2, 4}, "b": {1, 3}}


def test_classic_member_rejoins_when_its_heartbeat_says_so() -> None:
    member = settled_member([0, 1])
    assert member.settled
    member.heartbeat()
    assert member.receive(group_answers.heartbeat()) is None
    member.heartbeat()
    again = member.receive(group_answers.heartbeat(ErrorCode.rebalance_in_progress))
    assert again is not None
    request: JoinGroupRequest = parse(JoinGroupRequest, again)
    assert request.member_id == "m"
    assert not member.settled


def test_any_other_error_ends_the_measurement() -> None:
    member = settled_member([0])
    member.heartbeat()
    with pytest.raises(UnexpectedAnswer):
        member.receive(group_answers.heartbeat(ErrorCode.unknown_member_id))


def test_consumer_member_acknowledges_what_it_is_given_at_once() -> None:
    member = ConsumerMember("g", "t")
    member.start()
    acknowledgement = member.receive(group_answers.group_heartbeat(2, [0, 3]))
    assert acknowledgement is not None
    request: ConsumerGroupHeartbeatRequest = parse(ConsumerGroupHeartbeatRequest, acknowledgement)
    assert request.member_epoch == 2
    assert request.topic_partitions is not None
    assert [owned.partitions for owned in request.topic_partitions] == [(0, 3)]
    assert not member.settled
    assert member.receive(group_answers.group_heartbeat(2)) is None
    assert member.settled


def test_consumer_member_that_left_owns_nothing() -> None:
    member = ConsumerMember("g", "t")
    member.start()
    member.receive(group_answers.group_heartbeat(1, [0]))
    member.leave()
    assert member.receive(group_answers.group_heartbeat(-1)) is None
    assert member.left
    assert member.partitions == frozenset()


def test_stable_means_one_generation_and_every_partition_owned_once() -> None:
    first, second = settled_member([0, 1]), settled_member([2, 3])
    both: list[Member] = [first, second]
    assert is_stable(both, 4)
    assert not is_stable(both, 5)
    assert not is_stable([first, settled_member([1, 2])], 4)
    assert not is_stable([first, settled_member([2, 3], generation=2)], 4)
    second.start()
    assert not is_stable(both, 4)
