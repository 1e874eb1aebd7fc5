"""ElectLeaders (43), versions 0 to 2: the preferred leader, or an unclean election (KIPs 183, 460).

The controller elects; other brokers forward the request. A partition that has the leader which the
election is for is ELECTION_NOT_NEEDED. When all partitions are meant (null), those are left out and their
topics stay, as in Kafka.

Deviation: `timeout_ms` is read and not used: leaders are elected when the response is sent.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, KafkaError, NotController
from barnabas.base.ids import TopicPartition
from barnabas.controller.leader_elections import ElectionResult, elect_leaders
from barnabas.controller.partition_change import Election
from barnabas.handlers.context import ControllerContext, Request
from barnabas.metadata.store import StoreError
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.elect_leaders.v2.request import ElectLeadersRequest

_ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}


async def handle(context: ControllerContext, request: Request) -> Reply:
    body: ElectLeadersRequest = request.body
    election = _ELECTIONS.get(body.election_type)
    if election is None:
        return _refused(body, ErrorCode.invalid_request, f"Unknown election type {body.election_type}")
    partitions = None
    if body.topic_partitions is not None:
        partitions = [
            TopicPartition(topic.topic, number)
            for topic in body.topic_partitions
            for number in topic.partitions
        ]
    try:
        results = await context.store.run(elect_leaders, context.controller, election, partitions)
    except NotController:
        raise
    except KafkaError as error:
        return _refused(body, error.code, error.message)
    except StoreError as error:
        return _refused(body, ErrorCode.not_controller, str(error))
    names = context.image.topics if body.topic_partitions is None else ()
    found: dict[str, list[Reply]] = defaultdict(list, {name: [] for name in names})
    for result in results:
        if partitions is not None or result.error is not ErrorCode.election_not_needed:
            found[result.topic_partition.topic].append(_result(result))
    return Reply(
        error_code=ErrorCode.none,
        replica_election_results=[
            Reply(topic=topic, partition_result=partitions) for topic, partitions in found.items()
        ],
    )


def _result(result: ElectionResult) -> Reply:
    number = result.topic_partition.partition
    return Reply(partition_id=number, error_code=result.error, error_message=result.message)


def _refused(body: "ElectLeadersRequest", code: ErrorCode, message: str) -> Reply:
    """The error is repeated for each partition: version 0 has no error of the whole request."""
    return Reply(
        error_code=code,
        replica_election_results=[
            Reply(
                topic=topic.topic,
                partition_result=[
                    Reply(partition_id=number, error_code=code, error_message=message)
                    for number in topic.partitions
                ],
            )
            for topic in body.topic_partitions or ()
        ],
    )
