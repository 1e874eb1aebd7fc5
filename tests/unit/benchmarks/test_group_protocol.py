"""The hand-made group requests and answers are what kio reads and writes."""

import pytest
from benchmarks import group_protocol
from benchmarks.protocol import UnexpectedAnswer
from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v4.response import Coordinator, FindCoordinatorResponse
from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v9.request import JoinGroupRequest
from kio.schema.leave_group.v5.request import LeaveGroupRequest
from kio.schema.offset_commit.v9.request import OffsetCommitRequest
from kio.schema.offset_commit.v9.response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kio.schema.offset_fetch.v9.request import OffsetFetchRequest
from kio.schema.offset_fetch.v9.response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kio.schema.sync_group.v5.request import SyncGroupRequest
from kio.schema.types import BrokerId, GroupId, TopicName
from kio.static.primitive import i32, i64
from tests.unit.benchmarks import group_answers
from tests.unit.benchmarks.group_answers import NO_TIME
from tests.unit.benchmarks.kio_frames import parse, response


def committed(*errors: ErrorCode) -> bytes:
    partitions = tuple(
        OffsetCommitResponsePartition(partition_index=i32(index), error_code=error)
        for index, error in enumerate(errors)
    )
    topic = OffsetCommitResponseTopic(name=TopicName("t"), partitions=partitions)
    return response(OffsetCommitResponse(throttle_time=NO_TIME, topics=(topic,)))


def fetched(group_error: ErrorCode, partition_error: ErrorCode) -> bytes:
    partition = OffsetFetchResponsePartitions(
        partition_index=i32(3), committed_offset=i64(42), metadata="", error_code=partition_error
    )
    topic = OffsetFetchResponseTopics(name=TopicName("t"), partitions=(partition,))
    group = OffsetFetchResponseGroup(group_id=GroupId("g"), topics=(topic,), error_code=group_error)
    return response(OffsetFetchResponse(throttle_time=NO_TIME, groups=(group,)))


def test_classic_requests_parse_back() -> None:
    join: JoinGroupRequest = parse(JoinGroupRequest, group_protocol.join_group("g", "m", "t"))
    sync: SyncGroupRequest = parse(SyncGroupRequest, group_protocol.sync_group("g", 3, "m", {"m": b"x"}))
    beat: HeartbeatRequest = parse(HeartbeatRequest, group_protocol.heartbeat("g", 3, "m"))
    leave: LeaveGroupRequest = parse(LeaveGroupRequest, group_protocol.leave_group("g", "m"))
    assert (join.group_id, join.member_id, join.protocol_type) == ("g", "m", "consumer")
    assert [protocol.name for protocol in join.protocols] == ["range"]
    assert (sync.generation_id, sync.protocol_name) == (3, "range")
    assert [(given.member_id, given.assignment) for given in sync.assignments] == [("m", b"x")]
    assert (beat.group_id, beat.generation_id, beat.member_id) == ("g", 3, "m")
    assert [member.member_id for member in leave.members] == ["m"]


def test_group_heartbeats_parse_back() -> None:
    first: ConsumerGroupHeartbeatRequest = parse(
        ConsumerGroupHeartbeatRequest,
        group_protocol.consumer_group_heartbeat("g", "m", 0, topic="t", owned=(b"", ())),
    )
    plain: ConsumerGroupHeartbeatRequest = parse(
        ConsumerGroupHeartbeatRequest, group_protocol.consumer_group_heartbeat("g", "m", 5)
    )
    owning: ConsumerGroupHeartbeatRequest = parse(
        ConsumerGroupHeartbeatRequest,
        group_protocol.consumer_group_heartbeat("g", "m", 5, owned=(group_answers.TOPIC_ID.bytes, {2, 1})),
    )
    assert (first.member_epoch, first.subscribed_topic_names, first.topic_partitions) == (0, ("t",), ())
    assert (plain.member_epoch, plain.subscribed_topic_names, plain.topic_partitions) == (5, None, None)
    assert owning.topic_partitions is not None
    assert [(owned.topic_id, owned.partitions) for owned in owning.topic_partitions] == [
        (group_answers.TOPIC_ID, (1, 2))
    ]


def test_offset_requests_parse_back() -> None:
    commit: OffsetCommitRequest = parse(
        OffsetCommitRequest, group_protocol.offset_commit("g", -1, "", "t", [(0, 10), (1, 20)])
    )
    fetch: OffsetFetchRequest = parse(OffsetFetchRequest, group_protocol.offset_fetch("g", "t", [3]))
    find: FindCoordinatorRequest = parse(FindCoordinatorRequest, group_protocol.find_coordinator("g"))
    assert [(p.partition_index, p.committed_offset) for p in commit.topics[0].partitions] == [
        (0, 10),
        (1, 20),
    ]
    (group,) = fetch.groups
    assert group.topics is not None
    assert (group.group_id, group.topics[0].name, group.topics[0].partition_indexes) == ("g", "t", (3,))
    assert (find.key_type, find.coordinator_keys) == (0, ("g",))


def test_assignment_comes_back() -> None:
    assert group_protocol.parse_assignment(group_protocol.assignment("topic", [4, 2])) == {2, 4}
    assert group_protocol.parse_assignment(b"") == frozenset()


def test_join_answer_lists_the_members_to_the_leader() -> None:
    answer = group_answers.joined("a", leader="a", generation=4, members=["a", "b"])
    assert group_protocol.parse_join_group(answer) == group_protocol.Joined(0, 4, "a", "a", ("a", "b"))


def test_group_heartbeat_answer_tells_a_new_assignment_from_none() -> None:
    heartbeat = group_protocol.parse_consumer_group_heartbeat(group_answers.group_heartbeat(3, [1, 2]))
    untold = group_protocol.parse_consumer_group_heartbeat(group_answers.group_heartbeat(3))
    nothing = group_protocol.parse_consumer_group_heartbeat(group_answers.group_heartbeat(3, []))
    assert (heartbeat.epoch, heartbeat.topic_id) == (3, group_answers.TOPIC_ID.bytes)
    assert heartbeat.partitions == frozenset({1, 2})
    assert untold.partitions is None
    assert nothing.partitions == frozenset()


def test_a_partition_that_is_not_committed_is_noticed() -> None:
    group_protocol.check_committed(committed(ErrorCode.none, ErrorCode.none))
    with pytest.raises(UnexpectedAnswer, match="t-1: error code 22"):
        group_protocol.check_committed(committed(ErrorCode.none, ErrorCode.illegal_generation))


def test_offset_fetch_answer_gives_offsets_or_the_error() -> None:
    none, loading = ErrorCode.none, ErrorCode.coordinator_load_in_progress
    assert group_protocol.parse_offset_fetch(fetched(none, none)) == (0, {3: 42})
    assert group_protocol.parse_offset_fetch(fetched(loading, none))[0] == 14
    assert group_protocol.parse_offset_fetch(fetched(none, loading))[0] == 14


def test_coordinator_answer_gives_its_error() -> None:
    for error, code in ((ErrorCode.none, 0), (ErrorCode.coordinator_not_available, 15)):
        found = Coordinator(
            key="g", node_id=BrokerId(1), host="h", port=i32(9), error_code=error, error_message=None
        )
        answer = response(FindCoordinatorResponse(throttle_time=NO_TIME, coordinators=(found,)))
        assert group_protocol.coordinator_error(answer) == code
