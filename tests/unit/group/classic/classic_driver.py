"""Members of one classic group, as short calls (`driver.join()`, `driver.sync()`), and prepared groups."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v9.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.leave_group.v5.request import LeaveGroupRequest, MemberIdentity
from kio.schema.sync_group.v5.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.types import GroupId
from kio.static.primitive import i32, i32Timedelta
from tests.unit.group.shard_driver import ShardDriver, shard_environment

from barnabas.base.clock import ManualClock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.group.classic.classic_groups import ClassicGroups
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.environment import RequestContext
from barnabas.group.groups import Groups
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply

GROUP = "orders-readers"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
INITIAL_DELAY_MS = 3_000
SUBSCRIPTION = b"\x00\x01\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff"
RANGE: Mapping[str, bytes] = {"range": SUBSCRIPTION}

UNKNOWN = ""


class ClassicDriver(ShardDriver):
    def __init__(self, clock: ManualClock | None = None, **settings: Any) -> None:
        settings.setdefault("initial_rebalance_delay_ms", INITIAL_DELAY_MS)
        environment = shard_environment(clock or ManualClock(), **settings)
        self.groups: Groups = Groups()
        self.classic: ClassicGroups = ClassicGroups(self.groups, environment)
        super().__init__(self.classic, environment)

    @property
    def group(self) -> ClassicGroup:
        group = self.groups.get(GROUP)
        assert isinstance(group, ClassicGroup)
        return group

    @property
    def state(self) -> str:
        return self.group.state_name

    # --- requests ----------------------------------------------------------------------------------------

    def join(
        self,
        member_id: str = UNKNOWN,
        *,
        instance: str | None = None,
        protocols: Mapping[str, bytes] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int = 9,
        client: str = "client",
        reason: str | None = None,
        group_id: str = GROUP,
    ) -> Deferred[Reply]:
        body = JoinGroupRequest(
            group_id=GroupId(group_id),
            session_timeout=_ms(session_ms),
            rebalance_timeout=_ms(rebalance_ms),
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=tuple(
                JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols.items()
            ),
            reason=reason,
        )
        return self.call(self.classic.join, RequestContext(version, client, "/127.0.0.1"), body)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol: str | None = "range",
        version: int = 5,
        group_id: str = GROUP,
    ) -> Deferred[Reply]:
        body = SyncGroupRequest(
            group_id=GroupId(group_id),
            generation_id=i32(generation),
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=each, assignment=assignment)
                for each, assignment in (assignments or {}).items()
            ),
        )
        return self.call(self.classic.sync, RequestContext(version, "client", "/127.0.0.1"), body)

    def heartbeat(
        self, member_id: str, generation: int, *, instance: str | None = None, group_id: str = GROUP
    ) -> ErrorCode:
        body = HeartbeatRequest(
            group_id=GroupId(group_id),
            generation_id=i32(generation),
            member_id=member_id,
            group_instance_id=instance,
        )
        return code(self.call(self.classic.heartbeat, RequestContext(4, "client", "/127.0.0.1"), body))

    def leave(self, *member_ids: str, instance: str | None = None, group_id: str = GROUP) -> Deferred[Reply]:
        body = LeaveGroupRequest(
            group_id=GroupId(group_id),
            members=tuple(
                MemberIdentity(member_id=each, group_instance_id=instance, reason="the test says so")
                for each in member_ids
            ),
        )
        return self.call(self.classic.leave, RequestContext(5, "client", "/127.0.0.1"), body)

    def replay_tombstone(self) -> None:
        self.run(Outcome(None, self.group.tombstones()))

    # --- groups made ready -------------------------------------------------------------------------------

    def joining(self, count: int = 1, **join: Any) -> dict[str, Deferred[Reply]]:
        """New dynamic members with an id of their own; their joins wait for the initial delay to end."""
        answers = {}
        for _ in range(count):
            member_id = self.join(**join).result().member_id
            answers[member_id] = self.join(member_id, **join)
        return answers

    def completing(self, count: int = 1, **join: Any) -> list[str]:
        """A group in its first generation whose leader is the first of the members."""
        answers = self.joining(count, **join)
        self.advance(2 * INITIAL_DELAY_MS)
        assert [code(answer) for answer in answers.values()] == [ErrorCode.none] * count
        assert self.group.leader == next(iter(answers))
        return list(answers)

    def stable(self, count: int = 1, **join: Any) -> list[str]:
        """A stable group in its first generation."""
        members = self.completing(count, **join)
        answers = self.sync_all(members, self.group.generation)
        assert {code(answer) for answer in answers.values()} == {ErrorCode.none}
        assert self.state == "Stable"
        return members

    def sync_all(self, members: list[str], generation: int) -> dict[str, Deferred[Reply]]:
        """Followers first: they wait for the leader."""
        leader = self.group.leader
        answers = {each: self.sync(each, generation) for each in members if each != leader}
        if leader in members:
            answers[leader] = self.sync(leader, generation, {each: assignment(each) for each in members})
        return answers


def assignment(member_id: str) -> bytes:
    return f"for {member_id}".encode()


def code(answer: Deferred[Reply]) -> ErrorCode:
    """The error code of an answer, whether it was raised or replied."""
    if answer.error is not None:
        return answer.error.code
    result: ErrorCode = answer.result().error_code
    return result


def _ms(ms: int) -> i32Timedelta:
    return i32Timedelta.parse(timedelta(milliseconds=ms))
