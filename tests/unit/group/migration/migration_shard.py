"""A whole shard that is driven by hand, with requests of both protocols to one group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from io import BytesIO
from typing import Any

from kio.schema.consumer_protocol_subscription.v3.data import ConsumerProtocolSubscription, TopicPartition
from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v9.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.leave_group.v5.request import LeaveGroupRequest, MemberIdentity
from kio.schema.sync_group.v5.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.types import GroupId, TopicName
from kio.serial import entity_writer
from kio.static.primitive import i32, i32Timedelta
from tests.unit.group.consumer.consumer_shard import GROUP, ConsumerShard, durable, image_of
from tests.unit.group.shard_driver import ShardDriver, shard_environment

from barnabas.base.clock import ManualClock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, NotCoordinator
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import EMPTY, STABLE
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.environment import RequestContext
from barnabas.group.shard import GroupShard
from barnabas.wire import Reply

TopicPartitions = frozenset[tuple[str, int]]

SESSION_MS = 6_000
REBALANCE_MS = 10_000
CLIENT = RequestContext(9, "classic", "/127.0.0.1")
NO_GENERATION = -1

_write_subscription = entity_writer(ConsumerProtocolSubscription)


class MigrationShard(ConsumerShard):
    """Kafka's defaults, but nothing is delayed: neither the first rebalance nor the next target."""

    def __init__(
        self, topics: Mapping[str, int] | None = None, clock: ManualClock | None = None, **settings: Any
    ) -> None:
        settings.setdefault("consumer_assignment_interval_ms", 0)
        settings.setdefault("initial_rebalance_delay_ms", 0)
        self.settings: dict[str, Any] = settings
        image = image_of({"orders": 6} if topics is None else topics)
        self.environment = shard_environment(clock or ManualClock(), image, **settings)
        self.shard = GroupShard(self.environment)
        self.groups = self.shard.groups
        self.consumer_groups = self.shard.consumer
        self.driver = ShardDriver(self.shard, self.environment)
        self._replica: GroupShard | None = None
        self._replicated: int = 0

    def set_topics(self, topics: Mapping[str, int], incarnations: Mapping[str, int] | None = None) -> None:
        image = image_of(topics, incarnations)
        self.shard.on_image(image, {*self.environment.image.topics, *image.topics}, ())

    def reloaded(self) -> "MigrationShard":
        """Another coordinator that has replayed everything this one wrote.

        This one has no members any more.
        """
        self.shard.on_unloaded(NotCoordinator())
        other = MigrationShard(clock=self.driver.clock, **self.settings)
        other.environment.image = self.environment.image
        for record in self.driver.records:
            other.shard.replay(record)
        other.driver.records = list(self.driver.records)
        other.shard.on_loaded()
        return other

    @property
    def kind(self) -> str:
        """The group's type; "" if there is none."""
        group = self.groups.find(GROUP)
        return "" if group is None else group.type

    @property
    def state(self) -> str:
        return self.groups.get(GROUP).state_name

    @property
    def classic_group(self) -> ClassicGroup:
        group = self.groups.get(GROUP)
        assert isinstance(group, ClassicGroup)
        return group

    # --- requests of the classic protocol ----------------------------------------------------------------

    def join_group(
        self,
        member_id: str = "",
        *,
        topics: Sequence[str] = ("orders",),
        owned: Iterable[tuple[str, int]] = (),
        protocols: Mapping[str, bytes] | None = None,
        protocol_type: str = "consumer",
        instance_id: str | None = None,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int = 9,
    ) -> Deferred[Reply]:
        if protocols is None:
            protocols = {"range": subscription(topics, owned)}
        body = JoinGroupRequest(
            group_id=GroupId(GROUP),
            session_timeout=_ms(session_ms),
            rebalance_timeout=_ms(rebalance_ms),
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=tuple(
                JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols.items()
            ),
            reason=None,
        )
        context = RequestContext(version, CLIENT.client_id, CLIENT.client_host)
        return self.driver.call(self.shard.join_group, context, body)

    def sync_group(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = "consumer",
        protocol: str | None = "range",
        version: int = 5,
    ) -> Deferred[Reply]:
        body = SyncGroupRequest(
            group_id=GroupId(GROUP),
            generation_id=i32(generation),
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=each, assignment=assignment)
                for each, assignment in (assignments or {}).items()
            ),
        )
        context = RequestContext(version, CLIENT.client_id, CLIENT.client_host)
        return self.driver.call(self.shard.sync_group, context, body)

    def classic_heartbeat(
        self, member_id: str, generation: int, *, instance_id: str | None = None
    ) -> ErrorCode:
        body = HeartbeatRequest(
            group_id=GroupId(GROUP),
            generation_id=i32(generation),
            member_id=member_id,
            group_instance_id=instance_id,
        )
        return code(self.driver.call(self.shard.heartbeat, CLIENT, body))

    def leave_group(self, *identities: tuple[str, str | None]) -> Deferred[Reply]:
        """Each is a member id and an instance id."""
        body = LeaveGroupRequest(
            group_id=GroupId(GROUP),
            members=tuple(
                MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason=None)
                for member_id, instance_id in identities
            ),
        )
        return self.driver.call(self.shard.leave_group, CLIENT, body)

    # --- the log -----------------------------------------------------------------------------------------

    def check_log(self) -> None:
        """Check that the replayed log gives the durable state of the group."""
        if self._replica is None:
            self._replica = GroupShard(shard_environment(self.driver.clock))
        for record in self.driver.records[self._replicated :]:
            self._replica.replay(record)
        self._replicated = len(self.driver.records)
        live, loaded = self.groups.find(GROUP), self._replica.groups.find(GROUP)
        assert type(live) is type(loaded)
        if isinstance(live, ConsumerGroup) and isinstance(loaded, ConsumerGroup):
            assert durable(loaded) == durable(live)
        elif isinstance(live, ClassicGroup) and live.state in (STABLE, EMPTY):
            assert isinstance(loaded, ClassicGroup)
            assert durable_classic(loaded) == durable_classic(live)


def subscription(
    topics: Sequence[str], owned: Iterable[tuple[str, int]] = (), generation: int = NO_GENERATION
) -> bytes:
    buffer = BytesIO(b"\x00\x03")
    buffer.seek(2)
    _write_subscription(
        buffer,
        ConsumerProtocolSubscription(
            topics=tuple(topics),
            user_data=None,
            owned_partitions=tuple(
                TopicPartition(topic=TopicName(topic), partitions=tuple(map(i32, numbers)))
                for topic, numbers in by_topic(owned).items()
            ),
            generation_id=i32(generation),
            rack_id=None,
        ),
    )
    return buffer.getvalue()


def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(number)
    return found


def flat(partitions: Mapping[str, Iterable[int]]) -> TopicPartitions:
    return frozenset((topic, number) for topic, numbers in partitions.items() for number in numbers)


def code(answer: Deferred[Reply]) -> ErrorCode:
    if answer.error is not None:
        return answer.error.code
    result: ErrorCode = answer.result().error_code
    return result


def durable_classic(group: ClassicGroup) -> dict[str, Any]:
    """All of a classic group that is in the log."""
    names = ("generation", "protocol", "protocol_type", "leader", "state", "subscribed_topics")
    found = {name: getattr(group, name) for name in names}
    for member in group.members.values():
        value = member.as_value(group.protocol or "", member.assignment)
        found[member.member_id] = {each.name: getattr(value, each.name) for each in fields(value)}
    return found


def _ms(ms: int) -> i32Timedelta:
    return i32Timedelta.parse(timedelta(milliseconds=ms))
