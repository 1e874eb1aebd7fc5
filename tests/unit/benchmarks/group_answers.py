"""Answers of a coordinator, written by kio, for the tests of the members."""

import uuid
from collections.abc import Sequence
from datetime import timedelta

from kio.schema.consumer_group_heartbeat.v1 import response as beat
from kio.schema.errors import ErrorCode
from kio.schema.heartbeat.v4.response import HeartbeatResponse
from kio.schema.join_group.v9.response import JoinGroupResponse, JoinGroupResponseMember
from kio.schema.sync_group.v5.response import SyncGroupResponse
from kio.static.primitive import i32, i32Timedelta
from tests.unit.benchmarks.kio_frames import response

NO_TIME = i32Timedelta.parse(timedelta())
TOPIC_ID = uuid.UUID(int=7)


def joined(
    member_id: str,
    *,
    leader: str = "",
    generation: int = 1,
    members: Sequence[str] = (),
    error: ErrorCode = ErrorCode.none,
) -> bytes:
    listed = tuple(JoinGroupResponseMember(member_id=name, metadata=b"\x00" * 300) for name in members)
    return response(
        JoinGroupResponse(
            throttle_time=NO_TIME,
            error_code=error,
            generation_id=i32(generation),
            protocol_type="consumer",
            protocol_name="range",
            leader=leader,
            member_id=member_id,
            members=listed,
        )
    )


def synced(assignment: bytes, error: ErrorCode = ErrorCode.none) -> bytes:
    return response(
        SyncGroupResponse(
            throttle_time=NO_TIME,
            error_code=error,
            protocol_type="consumer",
            protocol_name="range",
            assignment=assignment,
        )
    )


def heartbeat(error: ErrorCode = ErrorCode.none) -> bytes:
    return response(HeartbeatResponse(throttle_time=NO_TIME, error_code=error))


def group_heartbeat(
    epoch: int, partitions: Sequence[int] | None = None, error: ErrorCode = ErrorCode.none
) -> bytes:
    assigned = None
    if partitions is not None:
        owned = beat.TopicPartitions(topic_id=TOPIC_ID, partitions=tuple(i32(p) for p in partitions))
        assigned = beat.Assignment(topic_partitions=(owned,) if partitions else ())
    return response(
        beat.ConsumerGroupHeartbeatResponse(
            throttle_time=NO_TIME,
            error_code=error,
            member_id="m",
            member_epoch=i32(epoch),
            heartbeat_interval=NO_TIME,
            assignment=assigned,
        )
    )
