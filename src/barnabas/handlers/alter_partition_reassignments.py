"""AlterPartitionReassignments (45), versions 0 and 1: other replicas for partitions (KIPs 455, 860).

Answered as by a Kafka cluster of one broker: the assignment that is in force is accepted and changes
nothing, brokers that are not registered are INVALID_REPLICA_ASSIGNMENT, and there is no reassignment to
cancel.

Deviation: a partition whose replicas are on other brokers than those registered (an adopted log directory)
cannot be moved: INVALID_REPLICA_ASSIGNMENT, with a message.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, InvalidReplicaAssignment
from barnabas.controller.assignments import check_replicas
from barnabas.handlers.context import ClusterContext, Request
from barnabas.metadata.image import ClusterImage
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.alter_partition_reassignments.v1.request import AlterPartitionReassignmentsRequest

_Verdict = tuple[ErrorCode, str | None]


def handle(context: ClusterContext, request: Request) -> Reply:
    body: AlterPartitionReassignmentsRequest = request.body
    return Reply(
        error_code=ErrorCode.none,
        allow_replication_factor_change=body.allow_replication_factor_change,
        responses=[
            Reply(
                name=topic.name,
                partitions=[
                    _result(context.image, topic.name, each.partition_index, each.replicas)
                    for each in topic.partitions
                ],
            )
            for topic in body.topics
        ],
    )


def _result(image: ClusterImage, name: str, number: int, replicas: Sequence[int] | None) -> Reply:
    code, message = _verdict(image, name, number, replicas)
    return Reply(partition_index=number, error_code=code, error_message=message)


def _verdict(image: ClusterImage, name: str, number: int, replicas: Sequence[int] | None) -> _Verdict:
    if name not in image.topics:
        return ErrorCode.unknown_topic_or_partition, f"Unable to find a topic named {name}."
    partition = image.partition(name, number)
    if partition is None:
        return ErrorCode.unknown_topic_or_partition, f"Unable to find partition {name}:{number}."
    if replicas is None:
        return ErrorCode.no_reassignment_in_progress, None
    try:
        check_replicas(replicas, image)
    except InvalidReplicaAssignment as error:
        return ErrorCode.invalid_replica_assignment, error.message
    if tuple(replicas) != partition.replicas:
        return ErrorCode.invalid_replica_assignment, "This broker cannot move a partition to other replicas"
    return ErrorCode.none, None
