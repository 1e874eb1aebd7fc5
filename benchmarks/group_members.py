"""Members of consumer groups without a socket: an answer goes in, the next request comes out.

Both kinds subscribe to one topic. A classic member that is elected leader deals the partitions out in turn.
A member of the consumer protocol takes what it is given and acknowledges it at once, as the Java client does.
`None` in place of a request means: nothing to say until the next heartbeat.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Protocol

from benchmarks import group_protocol
from benchmarks.group_protocol import (
    ILLEGAL_GENERATION,
    JOIN_GROUP,
    LEAVE_GROUP,
    LEAVING_EPOCH,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    SYNC_GROUP,
)
from benchmarks.protocol import UnexpectedAnswer


class Member(Protocol):
    """One member; `settled` while it holds what the coordinator gave it in `generation`."""

    generation: int
    partitions: frozenset[int]
    settled: bool
    left: bool

    def start(self) -> bytes: ...
    def heartbeat(self) -> bytes: ...
    def leave(self) -> bytes: ...
    def receive(self, answer: bytes) -> bytes | None: ...


class ClassicMember:
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""

    def __init__(self, group: str, topic: str, partition_count: int) -> None:
        self.group = group
        self.member_id = ""
        self.generation = -1
        self.partitions: frozenset[int] = frozenset()
        self.settled = False
        self.left = False
        self._topic = topic
        self._partition_count = partition_count
        self._api_key = JOIN_GROUP

    def start(self) -> bytes:
        self.settled = False
        self._api_key = JOIN_GROUP
        return group_protocol.join_group(self.group, self.member_id, self._topic)

    def heartbeat(self) -> bytes:
        self._api_key = group_protocol.HEARTBEAT
        return group_protocol.heartbeat(self.group, self.generation, self.member_id)

    def leave(self) -> bytes:
        self._api_key = LEAVE_GROUP
        return group_protocol.leave_group(self.group, self.member_id)

    def receive(self, answer: bytes) -> bytes | None:
        if self._api_key == JOIN_GROUP:
            return self._joined(answer)
        if self._api_key == SYNC_GROUP:
            return self._synced(answer)
        error = group_protocol.first_error(answer)
        if self._api_key == LEAVE_GROUP:
            _refuse(error, "leaving")
            self.left, self.partitions = True, frozenset()
            return None
        if error in (REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION):
            return self.start()
        _refuse(error, "heartbeat")
        return None

    def _joined(self, answer: bytes) -> bytes:
        joined = group_protocol.parse_join_group(answer)
        if joined.error == MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            return self.start()
        _refuse(joined.error, "joining")
        self.member_id, self.generation = joined.member_id, joined.generation
        self._api_key = SYNC_GROUP
        given = self._deal_out(sorted(joined.members)) if joined.leader == self.member_id else {}
        return group_protocol.sync_group(self.group, self.generation, self.member_id, given)

    def _synced(self, answer: bytes) -> bytes | None:
        error, partitions = group_protocol.parse_sync_group(answer)
        if error in (REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION):
            return self.start()
        _refuse(error, "synchronizing")
        self.partitions, self.settled = partitions, True
        return None

    def _deal_out(self, members: list[str]) -> dict[str, bytes]:
        count = len(members)
        return {
            member: group_protocol.assignment(self._topic, range(turn, self._partition_count, count))
            for turn, member in enumerate(members)
        }


class ConsumerMember:
    """ConsumerGroupHeartbeat (KIP-848); its generation is the member epoch."""

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.member_id = str(uuid.uuid4())
        self.generation = 0
        self.partitions: frozenset[int] = frozenset()
        self.settled = False
        self.left = False
        self._topic = topic
        self._topic_id = b""
        self._leaving = False

    def start(self) -> bytes:
        return group_protocol.consumer_group_heartbeat(
            self.group, self.member_id, 0, topic=self._topic, owned=(b"", ())
        )

    def heartbeat(self) -> bytes:
        return group_protocol.consumer_group_heartbeat(self.group, self.member_id, self.generation)

    def leave(self) -> bytes:
        self._leaving = True
        return group_protocol.consumer_group_heartbeat(self.group, self.member_id, LEAVING_EPOCH)

    def receive(self, answer: bytes) -> bytes | None:
        beat = group_protocol.parse_consumer_group_heartbeat(answer)
        if beat.error:
            raise UnexpectedAnswer(f"group heartbeat: error code {beat.error} ({beat.message})")
        if self._leaving:
            self.left, self.partitions = True, frozenset()
            return None
        self.generation = beat.epoch
        if beat.partitions is None:
            self.settled = True
            return None
        self.partitions, self._topic_id = beat.partitions, beat.topic_id
        self.settled = not self.partitions
        return group_protocol.consumer_group_heartbeat(
            self.group, self.member_id, self.generation, owned=(self._topic_id, self.partitions)
        )


def is_stable(members: Sequence[Member], partition_count: int) -> bool:
    """Whether all are settled in one generation and own every partition once."""
    generation = members[0].generation
    owned = 0
    for member in members:
        if not member.settled or member.generation != generation:
            return False
        owned += len(member.partitions)
    return owned == partition_count and len(frozenset().union(*(m.partitions for m in members))) == owned


def _refuse(error: int, doing: str) -> None:
    if error:
        raise UnexpectedAnswer(f"{doing}: error code {error}")
