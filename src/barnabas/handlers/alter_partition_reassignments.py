"""AlterPartitionReassignments (45), versions 0 and 1: other replicas for partitions (KIPs 455, 860).

The controller begins, replaces and cancels reassignments; other brokers forward the request. Those of one
request that are valid are written together. Version 1 may forbid to change the replication factor.

Deviation: `timeout_ms` is read and not used: what is decided is in force when the response is sent.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, KafkaError, NotController
from barnabas.base.ids import TopicPartition
from barnabas.controller.reassignments import Reassignment, reassign
from barnabas.handlers.context import ControllerContext, Request
from barnabas.metadata.store import StoreError
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.alter_partition_reassignments.v1.request import (
        AlterPartitionReassignmentsRequest,
        ReassignablePartition,
    )


async def handle(context: ControllerContext, request: Request) -> Reply:
    body: AlterPartitionReassignmentsRequest = request.body
    requested = [_reassignment(topic.name, each) for topic in body.topics for each in topic.partitions]
    may_change_factor = body.allow_replication_factor_change
    try:
        results = await context.store.run(
            reassign, context.controller, requested, may_change_factor=may_change_factor
        )
    except NotController:
        raise
    except KafkaError as error:
        return _refused(body, error.code, error.message)
    except StoreError as error:
        return _refused(body, ErrorCode.not_controller, str(error))
    remaining = iter(results)
    return Reply(
        error_code=ErrorCode.none,
        allow_replication_factor_change=may_change_factor,
        responses=[
            Reply(
                name=topic.name,
                partitions=[
                    Reply(
                        partition_index=result.topic_partition.partition,
                        error_code=result.error,
                        error_message=result.message,
                    )
                    for _, result in zip(topic.partitions, remaining, strict=False)
                ],
            )
            for topic in body.topics
        ],
    )


def _reassignment(topic: str, each: "ReassignablePartition") -> Reassignment:
    replicas = None if each.replicas is None else tuple(map(int, each.replicas))
    return Reassignment(TopicPartition(topic, each.partition_index), replicas)


def _refused(body: "AlterPartitionReassignmentsRequest", code: ErrorCode, message: str) -> Reply:
    return Reply(
        error_code=code,
        error_message=message,
        allow_replication_factor_change=body.allow_replication_factor_change,
        responses=[
            Reply(
                name=topic.name,
                partitions=[
                    Reply(partition_index=each.partition_index, error_code=code, error_message=message)
                    for each in topic.partitions
                ],
            )
            for topic in body.topics
        ],
    )
