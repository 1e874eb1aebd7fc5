"""OffsetForLeaderEpoch (23), versions 2 to 4: where an epoch ended in the leader's log (KIPs 101, 279,
320).

Answers the largest epoch up to the requested one and its end offset, -1 for both if that is not known.
Leader epochs are checked.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import RecordContext, Request
from barnabas.handlers.local_partitions import code_of, local_partition
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.offset_for_leader_epoch.v4.request import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
    )


def handle(context: RecordContext, request: Request) -> Reply:
    body: OffsetForLeaderEpochRequest = request.body
    return Reply(
        topics=[
            Reply(
                topic=topic.topic,
                partitions=[_partition(context, topic.topic, each) for each in topic.partitions],
            )
            for topic in body.topics
        ]
    )


def _partition(context: RecordContext, topic: str, wanted: "OffsetForLeaderPartition") -> Reply:
    number = wanted.partition
    try:
        partition = local_partition(context, topic, number)
        partition.check_leader(wanted.current_leader_epoch)
        epoch, end_offset = partition.log.end_offset_for_epoch(wanted.leader_epoch) or (-1, -1)
    except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
        return Reply(error_code=code_of(error, topic, number), partition=number)
    return Reply(error_code=ErrorCode.none, partition=number, leader_epoch=epoch, end_offset=end_offset)
