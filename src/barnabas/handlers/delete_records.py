"""DeleteRecords (21), versions 0 to 2: move the start of a log forward (KIP-107).

Offset -1 is the high watermark; one above it, or another negative one, is OFFSET_OUT_OF_RANGE; one below
the start of the log changes nothing. Answers the low watermark: the lowest log start of all replicas, of
which there is one. Topics that are only compacted are POLICY_VIOLATION, internal ones
INVALID_TOPIC_EXCEPTION. Whole segments before the new start are deleted by the next retention check.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, InvalidTopic, PolicyViolation
from barnabas.controller.topic_names import is_internal
from barnabas.handlers.context import RecordContext, Request
from barnabas.handlers.local_partitions import code_of, local_partition
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.delete_records.v2.request import DeleteRecordsPartition, DeleteRecordsRequest

_NO_LOW_WATERMARK = -1


def handle(context: RecordContext, request: Request) -> Reply:
    body: DeleteRecordsRequest = request.body
    return Reply(
        topics=[
            Reply(
                name=topic.name,
                partitions=[_partition(context, topic.name, each) for each in topic.partitions],
            )
            for topic in body.topics
        ]
    )


def _partition(context: RecordContext, topic: str, wanted: "DeleteRecordsPartition") -> Reply:
    number = wanted.partition_index
    try:
        low_watermark = _delete(context, topic, number, wanted.offset)
    except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
        code = code_of(error, topic, number)
        return Reply(partition_index=number, low_watermark=_NO_LOW_WATERMARK, error_code=code)
    return Reply(partition_index=number, low_watermark=low_watermark, error_code=ErrorCode.none)


def _delete(context: RecordContext, topic: str, number: int, offset: int) -> int:
    partition = local_partition(context, topic, number)
    if is_internal(topic):
        raise InvalidTopic(f"records of the internal topic {topic} cannot be deleted")
    partition.check_leader()
    log = partition.log
    if log.config.cleanup_compact and not log.config.cleanup_delete:
        raise PolicyViolation(f"{topic} is compacted: its records are not deleted by offset")
    return log.delete_records_before(offset)
