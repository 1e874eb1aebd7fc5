"""DeleteRecords (21), versions 0 to 2: move the start of a log forward (KIP-107).

Offset -1 is the high watermark; one above it, or another negative one, is OFFSET_OUT_OF_RANGE; one below
the start of the log changes nothing. Followers take over the new start with their next fetches. The answer
waits for that: it has the low watermark, the lowest log start of all live replicas, once that has reached the
offset. After the timeout of the request it is REQUEST_TIMED_OUT; the records are deleted all the same. Topics
that are only compacted are POLICY_VIOLATION, internal ones INVALID_TOPIC_EXCEPTION. Whole segments before the
new start are deleted by the next retention check.
"""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, InvalidTopic, PolicyViolation
from barnabas.controller.topic_names import is_internal
from barnabas.handlers.context import RecordContext, Request
from barnabas.handlers.local_partitions import code_of, local_partition
from barnabas.replication.partition import Partition
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.delete_records.v2.request import DeleteRecordsRequest

_HIGH_WATERMARK = -1
_NO_LOW_WATERMARK = -1


class _Deletion(NamedTuple):
    """A deletion on the leader that followers have to repeat."""

    partition: Partition
    result: Reply
    done: Deferred[None]


def handle(context: RecordContext, request: Request) -> Reply | Coroutine[Any, Any, Reply]:
    body: DeleteRecordsRequest = request.body
    waiting: list[_Deletion] = []
    reply = Reply(
        topics=[
            Reply(
                name=topic.name,
                partitions=[
                    _partition(context, topic.name, each.partition_index, each.offset, waiting)
                    for each in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )
    return _when_deleted(reply, waiting, body.timeout.total_seconds()) if waiting else reply


async def _when_deleted(reply: Reply, waiting: list[_Deletion], seconds: float) -> Reply:
    left = len(waiting)
    all_done = asyncio.Event()

    def on_done(_: Deferred[None]) -> None:
        nonlocal left
        left -= 1
        if not left:
            all_done.set()

    for each in waiting:
        each.done.when_done(on_done)
    try:
        async with asyncio.timeout(seconds):
            await all_done.wait()
    except TimeoutError:
        pass
    for partition, result, done in waiting:
        if done.error is not None:
            result.error_code, result.low_watermark = done.error.code, _NO_LOW_WATERMARK
        else:
            result.error_code = ErrorCode.none if done.is_done else ErrorCode.request_timed_out
            result.low_watermark = partition.low_watermark
    return reply


def _partition(
    context: RecordContext, topic: str, number: int, offset: int, waiting: list[_Deletion]
) -> Reply:
    result = Reply(partition_index=number, low_watermark=_NO_LOW_WATERMARK, error_code=ErrorCode.none)
    try:
        partition = local_partition(context, topic, number)
        deleted_up_to = _delete(partition, topic, offset)
        result.low_watermark = partition.low_watermark
        if result.low_watermark < deleted_up_to:
            waiting.append(_Deletion(partition, result, partition.when_deleted(deleted_up_to)))
    except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
        result.error_code = code_of(error, topic, number)
    return result


def _delete(partition: Partition, topic: str, offset: int) -> int:
    """Returns the offset before which the records are deleted on the leader."""
    if is_internal(topic):
        raise InvalidTopic(f"records of the internal topic {topic} cannot be deleted")
    partition.check_leader()
    log = partition.log
    if log.config.cleanup_compact and not log.config.cleanup_delete:
        raise PolicyViolation(f"{topic} is compacted: its records are not deleted by offset")
    wanted = log.high_watermark if offset == _HIGH_WATERMARK else offset
    log.delete_records_before(wanted)
    return wanted
