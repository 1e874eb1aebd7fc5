"""ListOffsets (2), versions 1 to 11: the offset that belongs to a point in time.

Besides times there are earliest (-2), latest (-1: the high watermark, the last stable offset for
read_committed, the log end for replicas), and by KIPs 734, 405, 1005 and 1023 the largest timestamp (-3,
v7), earliest local (-4, v8), latest tiered (-5, v9) and earliest pending upload (-6, v11). Nothing is
tiered here: earliest local is earliest, the last two are -1. A time is answered exactly, with the first
record at or after it; one that consumers cannot see yet is answered as if it were not there. KIP-320:
leader epochs are checked and returned.

A search for a time or for the largest timestamp is done in steps, and unpacks large batches in threads
(`handlers.unpacking`): records have to be looked at.

After an election a consumer gets OFFSET_NOT_AVAILABLE (LEADER_NOT_AVAILABLE before version 5) instead of the
end of the log until the high watermark has reached the start of the leader epoch (KIP-207).

A special timestamp that is newer than the version of the request is UNSUPPORTED_VERSION, a partition that
is requested twice INVALID_REQUEST.
"""

from collections import Counter
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode, OffsetNotAvailable
from barnabas.base.steps import Steps, at_once
from barnabas.handlers.context import RecordContext, Request
from barnabas.handlers.local_partitions import code_of, local_partition
from barnabas.replication.partition import Partition
from barnabas.replication.partition_environment import READ_COMMITTED
from barnabas.storage.log import Log
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.list_offsets.v11.request import ListOffsetsPartition, ListOffsetsRequest

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
)
_FIRST_VERSION_OF = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_FIRST_WITH_OFFSET_NOT_AVAILABLE = 5
_CONSUMER, _DEBUGGING_CONSUMER = -1, -2
_NOTHING = (-1, -1, -1)


def handle(context: RecordContext, request: Request) -> Reply | Coroutine[Any, Any, Reply]:
    body: ListOffsetsRequest = request.body
    if any(_is_search(each.timestamp) for topic in body.topics for each in topic.partitions):
        return _in_steps(context, request)
    return at_once(_steps(context, request))


async def _in_steps(context: RecordContext, request: Request) -> Reply:
    context.serving.slices.begin()
    return await context.unpacking.run(_steps(context, request), context.serving.slices)


def _steps(context: RecordContext, request: Request) -> Steps[Reply]:
    body: ListOffsetsRequest = request.body
    times = Counter((topic.name, each.partition_index) for topic in body.topics for each in topic.partitions)
    topics = []
    for topic in body.topics:
        partitions = []
        for each in topic.partitions:
            if times[topic.name, each.partition_index] > 1:
                partitions.append(_duplicate(each))
            else:
                partitions.append((yield from _partition(context, request, topic.name, each)))
                yield None
        topics.append(Reply(name=topic.name, partitions=partitions))
    return Reply(topics=topics)


def _is_search(timestamp: int) -> bool:
    """Whether records have to be looked at."""
    return timestamp >= 0 or timestamp == MAX_TIMESTAMP


def _duplicate(wanted: "ListOffsetsPartition") -> Reply:
    return Reply(partition_index=wanted.partition_index, error_code=ErrorCode.invalid_request)


def _partition(
    context: RecordContext, request: Request, topic: str, wanted: "ListOffsetsPartition"
) -> Steps[Reply]:
    number, timestamp = wanted.partition_index, wanted.timestamp
    if timestamp < 0 and request.version < _FIRST_VERSION_OF.get(timestamp, request.version + 1):
        return Reply(partition_index=number, error_code=ErrorCode.unsupported_version)
    try:
        partition = local_partition(context, topic, number)
        if request.body.replica_id != _DEBUGGING_CONSUMER:
            partition.check_leader(wanted.current_leader_epoch)
        log = partition.log
        end = _visible_end(log, request)
        if timestamp == LATEST:
            _check_available(partition, request)
            offset, found_timestamp, epoch = end, -1, partition.leader_epoch
        else:
            offset, found_timestamp, epoch = yield from _look_up(log, timestamp, end)
            if offset < 0 and _is_search(timestamp):
                _check_available(partition, request)
    except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
        code = code_of(error, topic, number)
        if code == ErrorCode.offset_not_available and request.version < _FIRST_WITH_OFFSET_NOT_AVAILABLE:
            code = ErrorCode.leader_not_available
        return Reply(partition_index=number, error_code=code)
    return Reply(
        partition_index=number,
        error_code=ErrorCode.none,
        timestamp=found_timestamp,
        offset=offset,
        leader_epoch=epoch,
    )


def _visible_end(log: Log, request: Request) -> int:
    """The first offset that the client cannot read."""
    if request.body.replica_id != _CONSUMER:
        return log.log_end_offset
    return log.last_stable_offset if request.body.isolation_level == READ_COMMITTED else log.high_watermark


def _check_available(partition: Partition, request: Request) -> None:
    """Refuse a consumer the end of the log until the high watermark is known again (KIP-207).

    A new leader's high watermark may be behind that of the leader before it: offsets would go back.
    """
    if request.body.replica_id == _CONSUMER and not partition.is_end_known:
        raise OffsetNotAvailable(
            f"the high watermark of {partition.topic_partition} is below the start of its leader epoch"
        )


def _look_up(log: Log, timestamp: int, end: int) -> Steps[tuple[int, int, int]]:
    """Offset, timestamp, leader epoch."""
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        first = log.leader_epochs.earliest
        known = first is not None and first.start_offset <= log.log_start_offset
        return log.log_start_offset, -1, first.epoch if known and first is not None else -1
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NOTHING
    if timestamp == MAX_TIMESTAMP:
        found = yield from log.search_max_timestamp()
    else:
        found = yield from log.search_timestamp(timestamp)
    return _NOTHING if found is None or found.offset >= end else found
