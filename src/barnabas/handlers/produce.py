"""Produce (0), versions 3 to 13.

acks=0 is never answered (a failed one closes the connection, so that the client notices), acks=1 as soon as
the leader's log has the batch, acks=all when every in-sync replica has it. If the topic requires a flush
(`flush.messages`), the response waits for the disk. KIPs: 98 (idempotence), 467 (record errors),
516 (topic ids, v13), 951 (leader hints, v10). A topic that does not exist is created when
`auto.create.topics.enable` says so; Apache Kafka does that from Metadata only.

Internal topics are INVALID_TOPIC_EXCEPTION: what a coordinator replays after a restart is what it wrote.
Kafka makes an exception for the client id `__admin_client`; this broker does not.

Transactions (KIP-98, KIP-890): the first batch of one in a partition waits until the coordinator has verified
it (`handlers.transaction_verification`), which is usually done at once; until it is, later requests of the
connection wait too, so that a producer's batches stay in order. Transactional records in a request without a
transactional id are TRANSACTIONAL_ID_AUTHORIZATION_FAILED, those of two producers
INVALID_PRODUCER_ID_MAPPING, for every partition of the request.

A large batch that has to be unpacked (`records.deep_validation`) is unpacked away from the event loop
(`handlers.unpacking`); later requests of the connection wait until it is appended.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.handlers.auto_creation import create_missing, may_create
from barnabas.handlers.context import RecordContext
from barnabas.handlers.produce_acknowledgement import Acknowledgement, encode_answer
from barnabas.handlers.produce_append import DEFERRED, Append, VerifiedAppend
from barnabas.handlers.repeated_produce import Repetitions
from barnabas.handlers.transaction_verification import (
    Verification,
    has_transactional,
    verifies_at_once,
)
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending
from barnabas.records.batch import ATTRIBUTES_OFFSET, TRANSACTIONAL_MASK
from barnabas.records.deep_validation import DeepValidation, UnpackingDeferred
from barnabas.replication.partitions import HostedTopic
from barnabas.wire.header import RequestHeader
from barnabas.wire.produce import (
    FIRST_WITH_TOPIC_IDS,
    PartitionRecords,
    ProduceRequest,
    ProduceTopicResult,
    TopicRecords,
    parse_produce,
)

logger = logging.getLogger("requests")

_ATTRIBUTES_LOW_BYTE = ATTRIBUTES_OFFSET + 1


def handle_frame(
    context: RecordContext, connection: Connection, header: RequestHeader, frame: memoryview, position: int
) -> Parts | Pending | None:
    version = header.version
    request = parse_produce(version, frame, position)
    hosted = _find_hosted(context, version, request)
    if None in hosted and version < FIRST_WITH_TOPIC_IDS:
        missing = [topic.name for topic, found in zip(request.topics, hosted, strict=True) if found is None]
        if any(may_create(context.topics, name) for name in missing):
            return _create_and_append(context, connection, header, request, missing)
    result = _append(context, connection, header, request, hosted)
    if result is not None and len(hosted) == 1 and len(request.topics[0].partitions) == 1:
        _remember(context, connection, header, request, hosted[0], frame)
    return result


def _find_hosted(context: RecordContext, version: int, request: ProduceRequest) -> list[HostedTopic | None]:
    if version >= FIRST_WITH_TOPIC_IDS:
        return [context.partitions.topic_by_id(topic.topic_id) for topic in request.topics]
    return [context.partitions.topic(topic.name) for topic in request.topics]


def _append(
    context: RecordContext,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    hosted: list[HostedTopic | None],
) -> Parts | Pending | None:
    if has_transactional(request.topics):
        return _verify_and_append(context, connection, header, request, hosted)
    append = Append(context, header.version, request.acks)
    return _append_all(context, connection, header, request, hosted, append)


def _append_all(
    context: RecordContext,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    hosted: list[HostedTopic | None],
    append: Append,
) -> Parts | Pending | None:
    results = [
        ProduceTopicResult(name, topic_id, [append.to_partition(found, *each) for each in partitions])
        for (name, topic_id, partitions), found in zip(request.topics, hosted, strict=True)
    ]
    if append.deferred:
        return _unpack_and_append(context, connection, header, request, results, append)
    return _answer(context, connection, header, request, results, append)


def _answer(
    context: RecordContext,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    results: list[ProduceTopicResult],
    append: Append,
) -> Parts | Pending | None:
    if request.acks == 0:
        if append.failed is not None:
            connection.close(f"a Produce with acks=0 failed: {append.failed}", is_fault=True)
        return None
    if append.waiting:
        waiting, has_failed = append.waiting, append.failed is not None
        acknowledgement = Acknowledgement(
            context, connection.peer, header, request.acks, results, waiting, has_failed
        )
        return acknowledgement.start(request.timeout_ms)
    return [encode_answer(context, header, results, append.failed is not None, connection.peer)]


def _remember(
    context: RecordContext,
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

    def __init__(self, context: RecordContext, connection: Connection) -> None:
        self._context: RecordContext = context
        self._connection: Connection = connection
        self.repetitions: Repetitions = Repetitions(context.partitions)

    def __call__(self, frame: memoryview) -> Parts | Pending | None:
        """Handle `frame` if it is a remembered request with other records; None if it is not."""
        repeated = self.repetitions.find(frame)
        records = None if repeated is None else repeated.records_of(frame)
        if repeated is None or records is None:
            return None
        if (
            records[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_MASK
            and not repeated.is_ongoing(records)
            and not verifies_at_once(
                self._context, repeated.version, repeated.transactional_id, repeated.partition, records
            )
        ):
            return None
        try:
            info = repeated.append(records)
        except (KafkaError, UnpackingDeferred):
            return None  # nothing was stored: the full path meets the same error and responds with it
        if not repeated.must_wait(info):
            return [repeated.answer(info)]
        peer, waiting = self._connection.peer, [(repeated.partition, info)]
        results = [repeated.result(info)]
        acknowledgement = Acknowledgement(
            self._context, peer, repeated.header, repeated.acks, results, waiting, has_failed=False
        )
        return acknowledgement.start(repeated.timeout_ms)


def _verify_and_append(
    context: RecordContext,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    hosted: list[HostedTopic | None],
) -> Parts | Pending | None:
    """Append in this turn of the loop if the coordinator answers in it; else later, what was copied."""
    verification = Verification(context, header.version, request, hosted)
    append = VerifiedAppend(context, header.version, request.acks, verification)
    verified = verification.start()
    if verified.is_done:
        return _append_all(context, connection, header, request, hosted, append)
    kept = request._replace(topics=[_copied(topic) for topic in request.topics])
    pending = Pending(cancel=verification.cancel)

    def finish() -> None:
        if connection.is_closed:
            return
        try:
            # Looked up again: the partition may have been deleted, and its log with it.
            found = _find_hosted(context, header.version, kept)
            pending.become(_append_all(context, connection, header, kept, found, append))
        except Exception:
            logger.exception(
                "Unexpected error in a Produce request of %r: the connection is closed", connection
            )
            connection.close("internal error", is_fault=True)

    loop = asyncio.get_running_loop()

    def on_verified(_: "Deferred[None]") -> None:
        # Not at once: the code that completes it may be in the middle of a change. The guards cover the gap.
        loop.call_soon(finish)

    verified.when_done(on_verified)
    return pending


def _unpack_and_append(
    context: RecordContext,
    connection: Connection,
    header: RequestHeader,
    request: ProduceRequest,
    results: list[ProduceTopicResult],
    append: Append,
) -> Pending:
    """Append the batches that have to be unpacked first. Later requests of the connection wait for it."""
    pending = Pending()
    validations, append.deferred = append.deferred, []
    positions = [
        (topic, index)
        for topic, result in enumerate(results)
        for index, each in enumerate(result.partitions)
        if each is DEFERRED
    ]

    async def unpack_then_append() -> None:
        for (topic, index), validation in zip(positions, validations, strict=True):
            number = request.topics[topic].partitions[index].partition
            refusal = await _validate(context, validation)
            if connection.is_closed and request.acks:
                return  # the client will send it again; with acks=0 it does not
            # Looked up again: the partition may have been deleted, and its log with it.
            hosted = _find_hosted(context, header.version, request)[topic]
            if refusal is None:
                result = append.to_partition(hosted, number, validation.records, validation)
            else:
                partition = None if hosted is None else hosted.partitions.get(number)
                result = append.failure(hosted, number, partition, refusal)
            results[topic].partitions[index] = result
        # What was appended before the unpacking may be acknowledged by now.
        append.waiting = [each for each in append.waiting if each[0].must_wait(each[1], request.acks)]
        pending.become(_answer(context, connection, header, request, results, append))

    _start(context, connection, unpack_then_append())
    return pending


async def _validate(context: RecordContext, validation: DeepValidation) -> Exception | None:
    try:
        await context.unpacking.validate(validation, context.serving.slices)
    except KafkaError as error:
        return error.with_traceback(None)  # its frames hold the unpacked records
    except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
        return error
    return None


def _start(context: RecordContext, connection: Connection, work: Coroutine[Any, Any, None]) -> None:
    async def run() -> None:
        try:
            await context.serving.holds.measured("Produce", work, lambda: repr(connection))
        except Exception:
            logger.exception(
                "Unexpected error in a Produce request of %r: the connection is closed", connection
            )
            connection.close("internal error", is_fault=True)

    task = asyncio.get_running_loop().create_task(run())
    _creating.add(task)
    task.add_done_callback(_creating.discard)


def _create_and_append(
    context: RecordContext,
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
            await create_missing(context.topics, missing)
        except Exception:
            logger.exception(
                "Unexpected error while creating topics for a Produce of %r: the connection is closed",
                connection,
            )
            connection.close("internal error", is_fault=True)
        if connection.is_closed:
            return
        hosted = _find_hosted(context, header.version, kept)
        pending.become(_append(context, connection, header, kept, hosted))

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
