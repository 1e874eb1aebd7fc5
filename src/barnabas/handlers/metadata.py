"""Metadata (3), versions 0 to 13: brokers, controller, topics and the leaders of their partitions.

Topics: all of them (null, or an empty list in version 0), by name, or by id (KIP-516, version 12 on; as in
Kafka one id makes the whole request one by ids). Addresses are those of the listener the client came
through; a leader without such an address is LISTENER_NOT_FOUND (LEADER_NOT_AVAILABLE before version 6).
Version 0 leaves out replicas that cannot be reached and says REPLICA_NOT_AVAILABLE. KIP-430: authorized
operations.

Deviations:
- A topic that the request creates (`auto.create.topics.enable`) is in its response. Kafka responds with
  UNKNOWN_TOPIC_OR_PARTITION once and lets the client retry. So does this broker if the topic was deleted less
  than a second before (`handlers/deleted_topics.py`).
- The controller is the real one; Kafka in KRaft mode names any broker.
"""

from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from barnabas.base.errors import ErrorCode
from barnabas.controller.topic_names import is_internal, is_legal_topic_name
from barnabas.controller.topics import MAX_PARTITIONS_PER_REQUEST
from barnabas.handlers.authorized_operations import NOT_REQUESTED, ON_CLUSTER, ON_TOPIC
from barnabas.handlers.auto_creation import create_missing, may_create
from barnabas.handlers.context import Request, TopicContext
from barnabas.handlers.visible_brokers import VisibleBrokers
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.metadata.v13.request import MetadataRequest, MetadataRequestTopic

_FIRST_WITH_LISTENER_ERRORS = 6
_AT_ONCE = 50
"""The description of more topics is made while it is encoded, in slices."""
_FIRST_WITH_TOPIC_IDS = 12


def handle(context: TopicContext, request: Request) -> Reply | Coroutine[Any, Any, Reply]:
    body: MetadataRequest = request.body
    topics = body.topics
    if topics is None or (request.version == 0 and not topics):
        return _Answer(context, request).of_all()
    if request.version < _FIRST_WITH_TOPIC_IDS and any(each.name is None or each.topic_id for each in topics):
        return _refused(topics)
    ids = [each.topic_id for each in topics if each.topic_id]
    if ids:
        return _Answer(context, request).of_ids(ids)
    names = [str(each.name) for each in topics]
    if body.allow_auto_topic_creation:
        missing = [name for name in names if name not in context.image.topics and may_create(context, name)]
        # A long request comes in parts; all together may create what one CreateTopics may.
        wanted = max(request.elements, len(missing)) * context.config.num_partitions
        if missing and wanted <= MAX_PARTITIONS_PER_REQUEST:
            return _create_then_answer(context, request, names, missing)
    return _Answer(context, request).of_names(names, {})


async def _create_then_answer(
    context: TopicContext, request: Request, names: list[str], missing: list[str]
) -> Reply:
    failed = await create_missing(context, missing)
    return _Answer(context, request).of_names(names, failed)


def _refused(topics: "tuple[MetadataRequestTopic, ...]") -> Reply:
    """Versions 10 and 11 have a field for topic ids, but no broker supported it."""
    return Reply(
        error_code=ErrorCode.invalid_request,
        topics=[
            Reply(error_code=ErrorCode.invalid_request, name=each.name or "", topic_id=each.topic_id)
            for each in topics
        ],
    )


class _Answer:
    """One image of the cluster, put into one answer."""

    __slots__ = ("_brokers", "_image", "_operations", "_request")

    def __init__(self, context: TopicContext, request: Request) -> None:
        self._request: Request = request
        self._image = context.image
        self._brokers: VisibleBrokers = VisibleBrokers(self._image, request.peer.listener)
        is_requested = request.body.include_topic_authorized_operations
        self._operations: int = ON_TOPIC if is_requested else NOT_REQUESTED

    def of_all(self) -> Reply:
        topics = self._image.topics.values()
        if len(topics) > _AT_ONCE:
            return self._reply(map(self._known, topics))
        return self._reply([self._known(topic) for topic in topics])

    def of_ids(self, ids: list[UUID]) -> Reply:
        return self._reply([self._by_id(topic_id) for topic_id in dict.fromkeys(ids)])

    def of_names(self, names: list[str], failed: dict[str, ErrorCode]) -> Reply:
        return self._reply([self._by_name(name, failed.get(name)) for name in dict.fromkeys(names)])

    def _reply(self, topics: Iterable[Reply]) -> Reply:
        # Versions 8 to 10 only: DescribeCluster took it over (KIP-700).
        is_requested = getattr(self._request.raw, "include_cluster_authorized_operations", False)
        return Reply(
            brokers=[
                Reply(node_id=broker.id, host=address.host, port=address.port, rack=broker.rack)
                for broker, address in self._brokers
            ],
            cluster_id=self._image.cluster_id,
            controller_id=self._brokers.controller_id,
            topics=topics,
            cluster_authorized_operations=ON_CLUSTER if is_requested else NOT_REQUESTED,
        )

    def _by_id(self, topic_id: UUID) -> Reply:
        topic = self._image.topic_by_id.get(topic_id)
        if topic is None:
            return Reply(error_code=ErrorCode.unknown_topic_id, name=None, topic_id=topic_id)
        return self._known(topic)

    def _by_name(self, name: str, error: ErrorCode | None) -> Reply:
        topic = self._image.topics.get(name)
        if topic is not None:
            return self._known(topic)
        if error is None:
            legal = is_legal_topic_name(name)
            error = ErrorCode.unknown_topic_or_partition if legal else ErrorCode.invalid_topic_exception
        return Reply(
            error_code=error,
            name=name,
            is_internal=is_internal(name),
            topic_authorized_operations=self._operations,
        )

    def _known(self, topic: TopicImage) -> Reply:
        describe = self._partition_v0 if self._request.version == 0 else self._partition
        return Reply(
            error_code=ErrorCode.none,
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.internal,
            partitions=[describe(topic.topic_id, partition) for partition in topic.partitions.values()],
            topic_authorized_operations=self._operations,
        )

    def _partition(self, topic_id: UUID, partition: PartitionImage) -> Reply:
        brokers = self._brokers
        error = brokers.leader_error(partition.leader)
        if error and self._request.version < _FIRST_WITH_LISTENER_ERRORS:
            error = ErrorCode.leader_not_available
        return Reply(
            error_code=error,
            partition_index=partition.partition,
            leader_id=brokers.leader(partition.leader),
            leader_epoch=partition.leader_epoch,
            replica_nodes=partition.replicas,
            isr_nodes=partition.isr,
            offline_replicas=brokers.offline(topic_id, partition),
        )

    def _partition_v0(self, topic_id: UUID, partition: PartitionImage) -> Reply:
        """The first version knew only replicas that can be reached, and an error where some cannot."""
        described = self._partition(topic_id, partition)
        replicas, isr = self._brokers.online(partition.replicas), self._brokers.online(partition.isr)
        if not described.error_code and (replicas, isr) != (partition.replicas, partition.isr):
            described.error_code = ErrorCode.replica_not_available
        described.replica_nodes, described.isr_nodes = replicas, isr
        return described
