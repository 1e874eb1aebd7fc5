"""CreatePartitions (37), versions 0 to 3: let a topic grow (KIP-195).

`count` is the number wanted in the end. With `validate_only` nothing is created; a name given twice is
INVALID_REQUEST.

Deviation: `timeout` is read and not used: the partitions exist when the response is sent.
"""

from typing import TYPE_CHECKING

from barnabas.controller.requests import NewPartitions
from barnabas.handlers.context import Request, TopicContext
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.create_partitions.v3.request import CreatePartitionsRequest, CreatePartitionsTopic


async def handle(context: TopicContext, request: Request) -> Reply:
    body: CreatePartitionsRequest = request.body
    wanted = [_new_partitions(topic) for topic in body.topics]
    results = await context.store.run(
        context.topics.create_partitions, wanted, validate_only=body.validate_only
    )
    return Reply(
        results=[
            Reply(name=result.name, error_code=result.error, error_message=result.message)
            for result in results
        ]
    )


def _new_partitions(topic: "CreatePartitionsTopic") -> NewPartitions:
    assignments = topic.assignments
    return NewPartitions(
        topic.name,
        topic.count,
        None if assignments is None else tuple(each.broker_ids for each in assignments),
    )
