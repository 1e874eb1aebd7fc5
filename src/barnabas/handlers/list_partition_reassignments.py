"""ListPartitionReassignments (46), version 0: the reassignments that go on (KIP-455).

None ever goes on: partitions have one replica and stay on their broker. Topics and partitions that do not
exist are left out as in Kafka.
"""

from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import ClusterContext, Request
from barnabas.wire import Reply


def handle(context: ClusterContext, request: Request) -> Reply:
    return Reply(error_code=ErrorCode.none, topics=[])
