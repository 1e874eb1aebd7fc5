"""Produce (0), versions 3 to 13.

acks=0 is never answered (a failed one closes the connection, so that the client notices), acks=1 as soon as
the leader's log has the batch, acks=all when every in-sync replica has it. Where the topic asks for a flush
(`flush.messages`), the answer waits for the disk. KIPs: 98 (idempotence), 467 (record errors),
516 (topic ids, v13), 951 (leader hints, v10). A topic that does not exist is created when
`auto.create.topics.enable` says so; Apache Kafka does that from Metadata only.

Internal topics are INVALID_TOPIC_EXCEPTION: what a coordinator replays after a restart is what it wrote.
Kafka lets a client through that calls itself `__admin_client`; here nobody is.

Deviation: transactional batches are refused with INVALID_TXN_STATE, as there is no transaction
coordinator that could have begun them.
"""

import asyncio
import logging

from barnabas.base.errors import (
    ErrorCode,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTopic,
    InvalidTxnState,
    KafkaError,
    UnknownTopicId,
    UnknownTopicOrPartition,
    error_of,
)
from barnabas.handlers.auto_creation import create_missing, may_create
from barnabas.handlers.context import Context
from barnabas.handlers.leader_hints import endpoints_for, hint_for
from barnabas.handlers.repeated_produce import Repetitions
from barnabas.network.connection import Connection, Peer
from barnabas.network.responses import Parts, Pending
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import HostedTopic
from barnabas.storage.append_info import AppendInfo
from barnabas.wire.header import RequestHeader
from barnabas.wire.produce import (
    FIRST_WITH_LEADER_HINTS,
    FIRST_WITH_TOPIC_IDS,
    FIRST_WITH_ZSTD,
    PartitionRecords,
    PartitionResult,
    ProduceRequest,
    TopicRecords,
    TopicResult,
    encode_produce_response,
    parse_produce,
)

logger = logging.getLogger("requests")

_ATTRIBUTES_LOW_BYTE = 22
_TRANSACTIONAL = 0x10
_ERRORS_WITH_A_HINT = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)


def handle_frame(
    context: Context, connection: Connection, header: RequestHeader, frame: memoryview, position: int
) -> Parts | Pending | None:
    version = header.version
    request = parse_produce(version, frame, position)
    hosted: list[HostedTopic | None]
    if version >= FIRST_WITH_TOPIC_IDS:
        hosted = [context.partitions.topic_by_id(topic.topic_id) for topic in request.topics]
    else:
        hosted = [context.partitions.topic(topic.name) for topic in request.topics]
        if None in hosted:
            missing = [
                topic.name for topic, found in zip(request.topics, hosted, strict=True) if found is None
            ]
            if any(may_create(context, name) for name in missing):
                return _create_and_append(context, connection, header, request, missing)
    result = _append(context, connection, header, request, hosted)
    if result is not None and len(hosted) == 1 and len(request.topics[0].partitions) == 1:
        _remember(context, connection, header, request, hosted[0], frame)
    return result


def _append(
    context: Context,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    hosted: list[HostedTopic | None],
) -> Parts | Pending | None:
    append = _Append(header.version, request.acks)
    results = [
        TopicResult(name, topic_id, [append.to_partition(found, *each) for each in partitions])
        for (name, topic_id, partitions), found in zip(request.topics, hosted, strict=True)
    ]
    if request.acks == 0:
        if append.failed is not None:
            connection.close(f"a Produce with acks=0 failed: {append.failed}", is_fault=True)
        return None
    if append.waiting:
        waiting, has_failed = append.waiting, append.failed is not None
        acknowledgement = _Acknowledgement(context, connection.peer, header, results, waiting, has_failed)
        return acknowledgement.start(request.timeout_ms)
    return [_encode(context, header, results, append.failed is not None, connection.peer)]


def _remember(
    context: Context,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    hosted: HostedTopic | None,
    frame: memoryview,
) -> None:
    """The next request of this connection is likely the same with other records."""
    number, records = request.topics[0].partitions[0]
    partition = None if hosted is None else hosted.partitions.get(number)
    if hosted is None or partition is None or records is None or hosted.is_internal:
        return
    shortcut = connection.shortcut
    if not isinstance(shortcut, _Shortcut):
        shortcut = connection.shortcut = _Shortcut(context, connection)
    shortcut.repetitions.remember(partition, header.version, request, frame, len(records))


class _Shortcut:
    """The shortcut of one connection."""

    __slots__ = ("_connection", "_context", "repetitions")

    def __init__(self, context: Context, connection: Connection) -> None:
        self._context: Context = context
        self._connection: Connection = connection
        self.repetitions: Repetitions = Repetitions(context.partitions)

    def __call__(self, frame: memoryview) -> Parts | Pending | None:
        """Handle `frame` if it is a remembered request with other records; None if it is not."""
        repeated = self.repetitions.find(frame)
        records = None if repeated is None else repeated.records_of(frame)
        if repeated is None or records is None:
            return None
        try:
            info = repeated.append(records)
        except KafkaError:
            return None  # nothing was stored: the long way meets the same error and knows how to tell it
        if not repeated.must_wait(info):
            return [repeated.answer(info)]
        peer, waiting = self._connection.peer, [(repeated.partition, info)]
        results = [repeated.result(info)]
        acknowledgement = _Acknowledgement(
            self._context, peer, repeated.header, results, waiting, has_failed=False
        )
        return acknowledgement.start(repeated.timeout_ms)


def _encode(
    context: Context, header: RequestHeader, results: list[TopicResult], has_failed: bool, peer: Peer
) -> bytes:
    if not has_failed or header.version < FIRST_WITH_LEADER_HINTS:
        return encode_produce_response(header.version, header.correlation_id, results)
    hints = [each.leader for topic in results for each in topic.partitions if each.leader is not None]
    return encode_produce_response(
        header.version, header.correlation_id, results, endpoints=endpoints_for(context, hints, peer)
    )


class _Append:
    """The appends of one request; remembers what has to be waited for."""

    __slots__ = ("_acks", "_allow_zstd", "_version", "failed", "waiting")

    def __init__(self, version: int, acks: int) -> None:
        self._version: int = version
        self._acks: int = acks
        self._allow_zstd: bool = version >= FIRST_WITH_ZSTD
        self.failed: str | None = None
        self.waiting: list[tuple[Partition, AppendInfo]] = []

    def to_partition(
        self, hosted: HostedTopic | None, number: int, records: bytes | memoryview | None
    ) -> PartitionResult:
        partition = None
        try:
            partition = self._find(hosted, number)
            if records is None:
                raise InvalidRecord("a partition without records")
            if len(records) > _ATTRIBUTES_LOW_BYTE and records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL:
                raise InvalidTxnState("transactions are not served by this broker")
            info = partition.append(records, self._acks, allow_zstd=self._allow_zstd)
            if self._acks and partition.must_wait(info):
                self.waiting.append((partition, info))
            return PartitionResult(number, 0, info.base_offset, info.log_append_time, info.log_start_offset)
        except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
            return self._failure(number, partition, error)

    def _find(self, hosted: HostedTopic | None, number: int) -> Partition:
        if self._acks not in (-1, 0, 1):
            raise InvalidRequiredAcks(f"acks={self._acks}: allowed are -1, 0 and 1")
        partition = None if hosted is None else hosted.partitions.get(number)
        if partition is None:
            if hosted is None and self._version >= FIRST_WITH_TOPIC_IDS:
                raise UnknownTopicId
            raise UnknownTopicOrPartition
        if hosted is not None and hosted.is_internal:
            raise InvalidTopic(f"only its coordinator writes to the internal topic {hosted.name}")
        return partition

    def _failure(self, number: int, partition: Partition | None, error: Exception) -> PartitionResult:
        code, message = error_of(error)
        self.failed = message
        if not isinstance(error, KafkaError):
            logger.error("Append to partition %s failed", number, exc_info=error)
        leader = None
        if partition is not None and code in _ERRORS_WITH_A_HINT:
            leader = hint_for(partition)
        record_errors = tuple(getattr(error, "record_errors", ()))
        # Where the records are at fault, the answer tells where the log starts, as Kafka's does.
        start = partition.log.log_start_offset if partition is not None and record_errors else -1
        return PartitionResult(number, code, -1, -1, start, record_errors, message, leader)


class _Acknowledgement:
    """A response that waits for disks or replicas, until the producer's timeout."""

    def __init__(
        self,
        context: Context,
        peer: Peer,
        header: RequestHeader,
        results: list[TopicResult],
        waiting: list[tuple[Partition, AppendInfo]],
        has_failed: bool,
    ) -> None:
        # Later batches of the same connection need not wait for this one's acknowledgement.
        self._pending: Pending = Pending(holds_back=False, cancel=self._forget)
        self._context: Context = context
        self._peer: Peer = peer
        self._header: RequestHeader = header
        self._results: list[TopicResult] = results
        self._has_failed: bool = has_failed
        self._waiting: list[tuple[Partition, AppendInfo]] = waiting
        self._left: dict[tuple[str, int], Partition] = {each.topic_partition: each for each, _ in waiting}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, timeout_ms: int) -> Pending:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(timeout_ms / 1000, self._on_timeout)
        for partition, info in self._waiting:
            partition.when_acknowledged(info, _Waiting(self, partition))
        return self._pending

    def on_partition(self, partition: Partition, error: KafkaError | None) -> None:
        if self._left.pop(partition.topic_partition, None) is None:
            return
        if error is not None:
            self._replace(partition, error.code)
        if not self._left:
            self._finish()

    def _on_timeout(self) -> None:
        for partition in list(self._left.values()):
            self._replace(partition, ErrorCode.request_timed_out)
        self._left.clear()
        self._finish()

    def _replace(self, partition: Partition, code: ErrorCode) -> None:
        self._has_failed = True
        name, number = partition.topic_partition
        for topic in self._results:
            if topic.name != name and topic.topic_id != partition.topic_id:
                continue
            for index, result in enumerate(topic.partitions):
                if result.partition == number:
                    topic.partitions[index] = PartitionResult(number, code)

    def _finish(self) -> None:
        self._stop_timer()
        self._pending.complete(
            [_encode(self._context, self._header, self._results, self._has_failed, self._peer)]
        )

    def _forget(self) -> None:
        self._stop_timer()
        self._left.clear()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class _Waiting:
    """One partition's part of an acknowledgement."""

    __slots__ = ("_acknowledgement", "_partition")

    def __init__(self, acknowledgement: _Acknowledgement, partition: Partition) -> None:
        self._acknowledgement: _Acknowledgement = acknowledgement
        self._partition: Partition = partition

    def __call__(self, error: KafkaError | None) -> None:
        self._acknowledgement.on_partition(self._partition, error)


def _create_and_append(
    context: Context,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    missing: list[str],
) -> Pending:
    """Create the topics first. The records are copied: the receive buffer moves on meanwhile."""
    kept = request._replace(topics=[_copied(topic) for topic in request.topics])
    pending = Pending()

    async def create_then_append() -> None:
        try:
            await create_missing(context, missing)
        except Exception:
            logger.exception("Topics for a Produce of %r could not be created", connection)
            connection.close("internal error", is_fault=True)
        if connection.is_closed:
            return
        hosted = [context.partitions.topic(topic.name) for topic in kept.topics]
        result = _append(context, connection, header, kept, hosted)
        if isinstance(result, Pending):
            inner = result
            inner.when_complete(lambda: pending.complete(inner.parts))
        else:
            pending.complete(result or [])

    task = asyncio.get_running_loop().create_task(create_then_append())
    _creating.add(task)
    task.add_done_callback(_creating.discard)
    return pending


_creating: set[asyncio.Task[None]] = set()


def _copied(topic: TopicRecords) -> TopicRecords:
    partitions = [
        PartitionRecords(each.partition, None if each.records is None else bytes(each.records))
        for each in topic.partitions
    ]
    return topic._replace(partitions=partitions)
