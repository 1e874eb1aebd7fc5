"""Consumer groups on a shard that is driven by hand, and clients that follow the protocol."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest, TopicPartitions
from kio.schema.types import TopicName
from kio.static.primitive import i32, i32Timedelta
from tests.unit.group.shard_driver import ShardDriver, shard_environment

from barnabas.base.clock import ManualClock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import FencedMemberEpoch, KafkaError, UnknownMemberId
from barnabas.group.consumer.consumer_groups import ConsumerGroups
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from barnabas.group.environment import RequestContext
from barnabas.group.groups import Groups
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.wire import Reply

Partitions = frozenset[tuple[str, int]]
"""(topic, partition)"""

GROUP = "g"
NAMESPACE = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
CONTEXT = RequestContext(version=1, client_id="client", client_host="/127.0.0.1")


def partitions_of(topic: str, *partitions: int) -> Partitions:
    return frozenset((topic, partition) for partition in partitions)


def topic_id(name: str, incarnation: int = 0) -> UUID:
    return uuid5(NAMESPACE, f"{name}/{incarnation}")


def image_of(topics: Mapping[str, int], incarnations: Mapping[str, int] | None = None) -> ClusterImage:
    """A cluster with these topics and their numbers of partitions."""
    images = {
        name: TopicImage(
            name,
            topic_id(name, (incarnations or {}).get(name, 0)),
            {each: PartitionImage(each, 1, 0, (1,), (1,), (), (), 0) for each in range(count)},
        )
        for name, count in topics.items()
    }
    return ClusterImage(topics=images, topic_by_id={image.topic_id: image for image in images.values()})


class ConsumerShard:
    """Kafka's defaults, but the target is computed at once unless a test says otherwise."""

    def __init__(
        self, topics: Mapping[str, int] | None = None, clock: ManualClock | None = None, **settings: Any
    ) -> None:
        settings.setdefault("consumer_assignment_interval_ms", 0)
        self.settings: dict[str, Any] = settings
        image = image_of({"orders": 4} if topics is None else topics)
        self.environment = shard_environment(clock or ManualClock(), image, **settings)
        self.groups = Groups()
        self.consumer_groups = ConsumerGroups(self.groups, self.environment)
        self.driver = ShardDriver(self.consumer_groups, self.environment)

    # --- the cluster -------------------------------------------------------------------------------------

    def set_topics(self, topics: Mapping[str, int], incarnations: Mapping[str, int] | None = None) -> None:
        old, new = self.environment.image, image_of(topics, incarnations)
        self.environment.image = replace(new, group_configs=old.group_configs)
        self.consumer_groups.on_image(old, self.environment.image, {*old.topics, *new.topics})

    def set_group_config(self, **configs: str) -> None:
        named = {key.replace("_", "."): value for key, value in configs.items()}
        self.environment.image = replace(self.environment.image, group_configs={GROUP: named})

    def reloaded(self) -> "ConsumerShard":
        """Another shard that has replayed everything this one wrote."""
        other = ConsumerShard(clock=self.driver.clock, **self.settings)
        other.environment.image = self.environment.image
        for record in self.driver.records:
            other.consumer_groups.replay(record)
        other.driver.records = list(self.driver.records)
        other.consumer_groups.on_loaded()
        return other

    # --- requests ----------------------------------------------------------------------------------------

    @property
    def group(self) -> ConsumerGroup:
        group = self.groups.get(GROUP)
        assert isinstance(group, ConsumerGroup)
        return group

    def heartbeat(
        self,
        member_id: str,
        epoch: int,
        *,
        topics: Iterable[str] | None = None,
        owned: Partitions | None = None,
        context: RequestContext = CONTEXT,
        **fields: Any,
    ) -> Deferred[Reply]:
        """`timeout`: rebalance timeout in ms; the rest are fields of the request."""
        timeout = fields.pop("timeout", -1)
        body = ConsumerGroupHeartbeatRequest(
            group_id=fields.pop("group_id", GROUP),
            member_id=member_id,
            member_epoch=i32(epoch),
            rebalance_timeout=i32Timedelta.parse(timedelta(milliseconds=timeout)),
            subscribed_topic_names=None if topics is None else tuple(map(TopicName, topics)),
            topic_partitions=None if owned is None else self._topic_partitions(owned),
            **fields,
        )
        return self.driver.call(self.consumer_groups.heartbeat, context, body)

    def join(self, member_id: str, topics: Iterable[str] | None = ("orders",), **fields: Any) -> Reply:
        return self.try_join(member_id, topics, **fields).result()

    def try_join(
        self, member_id: str, topics: Iterable[str] | None = ("orders",), **fields: Any
    ) -> Deferred[Reply]:
        request = {"timeout": 60_000, "owned": frozenset(), **fields}
        return self.heartbeat(member_id, JOIN_EPOCH, topics=topics, **request)

    def _topic_partitions(self, owned: Partitions) -> tuple[TopicPartitions, ...]:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in sorted(owned):
            by_topic.setdefault(topic, []).append(partition)
        return tuple(
            TopicPartitions(topic_id=self._topic_id(name), partitions=tuple(map(i32, partitions)))
            for name, partitions in by_topic.items()
        )

    def _topic_id(self, name: str) -> UUID:
        image = self.environment.image.topics.get(name)
        return topic_id(name) if image is None else image.topic_id

    def partitions(self, reply: Reply) -> Partitions | None:
        """What an answer assigns, or None when it does not say."""
        if not hasattr(reply, "assignment"):
            return None
        names = self.environment.image.topic_by_id
        return frozenset(
            (names[topic.topic_id].name, partition)
            for topic in reply.assignment.topic_partitions
            if topic.topic_id in names
            for partition in topic.partitions
        )


class Client:
    """A consumer as librdkafka and the Java client are: one heartbeat at a time, revokes before it takes.

    `holds` is what it works on: from the answer that assigns it until the heartbeat that gives it up.
    """

    def __init__(
        self,
        shard: ConsumerShard,
        member_id: str,
        topics: Iterable[str] | None = ("orders",),
        *,
        regex: str | None = None,
        instance_id: str | None = None,
        timeout: int = 60_000,
    ) -> None:
        self.shard = shard
        self.member_id = member_id
        self.topics = None if topics is None else tuple(topics)
        self.regex = regex
        self.instance_id = instance_id
        self.timeout = timeout
        self.epoch = JOIN_EPOCH
        self.holds: set[tuple[str, int]] = set()
        self.assigned: Partitions = frozenset()
        self._said: Partitions | None = frozenset()
        self._has_news = False

    def beat(self) -> None:
        """One heartbeat; a member that is fenced gives everything up and joins again with its next one."""
        try:
            self._receive(self._send().result())
        except (FencedMemberEpoch, UnknownMemberId):
            self._abandon()

    def try_beat(self) -> None:
        """One heartbeat that may fail to be written: then the next one says everything."""
        try:
            self.beat()
        except KafkaError:
            self._said, self._has_news = None, True

    def reconcile(self) -> None:
        """What a rebalance listener does: let go, then take. The next heartbeat says so."""
        self.holds = set(self.assigned)

    def settle(self) -> None:
        self.beat()
        self.reconcile()
        self.beat()

    def subscribe(self, topics: Iterable[str] | None, regex: str | None = None) -> None:
        self.topics = None if topics is None else tuple(topics)
        self.regex, self._has_news = regex, True

    def leave(self) -> None:
        self._leave(LEAVE_EPOCH)

    def leave_for_a_while(self) -> None:
        self._leave(STATIC_LEAVE_EPOCH)

    def _leave(self, epoch: int) -> None:
        self._abandon()
        self.shard.heartbeat(self.member_id, epoch, instance_id=self.instance_id).result()

    def _abandon(self) -> None:
        self.epoch, self.holds, self.assigned, self._said = JOIN_EPOCH, set(), frozenset(), frozenset()

    def _send(self) -> Deferred[Reply]:
        if self.epoch == JOIN_EPOCH:
            return self.shard.heartbeat(
                self.member_id, JOIN_EPOCH, owned=frozenset(), timeout=self.timeout, **self._subscription()
            )
        news = self._subscription() if self._has_news else {"instance_id": self.instance_id}
        owned = frozenset(self.holds)
        said = None if owned == self._said else owned
        answer = self.shard.heartbeat(self.member_id, self.epoch, owned=said, **news)
        if answer.error is None:
            self._said, self._has_news = owned, False
        return answer

    def _subscription(self) -> dict[str, Any]:
        return {
            "topics": self.topics if self.topics is not None else (),
            "subscribed_topic_regex": self.regex or "",
            "instance_id": self.instance_id,
        }

    def _receive(self, reply: Reply) -> None:
        self.epoch = reply.member_epoch
        assigned = self.shard.partitions(reply)
        if assigned is not None:
            self.assigned = assigned
            # What is assigned may be worked on at once, what is not any more only after it was let go.
            self.holds |= assigned


def settle(clients: Iterable[Client], rounds: int = 10) -> None:
    """All clients send heartbeats and reconcile until nothing changes."""
    order = list(clients)
    for _ in range(rounds):
        for client in order:
            client.settle()


def durable(group: ConsumerGroup) -> dict[str, Any]:
    """All of a group that is in the log."""
    soft = {"refreshed_epoch", "topics_created_ms", "_environment"}
    return {name: value for name, value in vars(group).items() if name not in soft}
