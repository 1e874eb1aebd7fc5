"""ElectLeaders (43), versions 0 to 2: the preferred leader, or an unclean election (KIPs 183, 460).

With one broker there is no other to elect: a partition that it leads is ELECTION_NOT_NEEDED, one without
a leader stays so, with Kafka's error. When all partitions are meant (null), those that need no election are
left out and their topics stay.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import ClusterContext, Request
from barnabas.metadata.image import NO_LEADER, PartitionImage
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.elect_leaders.v2.request import ElectLeadersRequest

_PREFERRED, _UNCLEAN = 0, 1
_MESSAGES = {
    ErrorCode.election_not_needed: "Leader election not needed for topic partition.",
    ErrorCode.preferred_leader_not_available: "The preferred leader was not available.",
    ErrorCode.eligible_leaders_not_available: "Eligible topic partition leaders are not available.",
}


def handle(context: ClusterContext, request: Request) -> Reply:
    body: ElectLeadersRequest = request.body
    if body.election_type not in (_PREFERRED, _UNCLEAN):
        return _unknown_type(body)
    if body.topic_partitions is None:
        results = _all(context, body.election_type)
    else:
        results = [
            Reply(
                topic=topic.topic,
                partition_result=[
                    _result(context, body.election_type, topic.topic, number) for number in topic.partitions
                ],
            )
            for topic in body.topic_partitions
        ]
    return Reply(error_code=ErrorCode.none, replica_election_results=results)


def _unknown_type(body: "ElectLeadersRequest") -> Reply:
    code, message = ErrorCode.invalid_request, f"Unknown election type {body.election_type}"
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


def _all(context: ClusterContext, election_type: int) -> list[Reply]:
    found = []
    for topic in context.image.topics.values():
        codes = {number: _code(election_type, each) for number, each in topic.partitions.items()}
        failed = [
            Reply(partition_id=number, error_code=code, error_message=_MESSAGES[code])
            for number, code in codes.items()
            if code is not ErrorCode.election_not_needed
        ]
        found.append(Reply(topic=topic.name, partition_result=failed))
    return found


def _result(context: ClusterContext, election_type: int, name: str, number: int) -> Reply:
    topic = context.image.topics.get(name)
    partition = None if topic is None else topic.partitions.get(number)
    if partition is None:
        missing = f"No such topic as {name}" if topic is None else f"No such partition as {name}-{number}"
        code, message = ErrorCode.unknown_topic_or_partition, missing
    else:
        code = _code(election_type, partition)
        message = _MESSAGES[code]
    return Reply(partition_id=number, error_code=code, error_message=message)


def _code(election_type: int, partition: PartitionImage) -> ErrorCode:
    if election_type == _PREFERRED:
        is_there = partition.leader != NO_LEADER and partition.leader == partition.replicas[0]
        return ErrorCode.election_not_needed if is_there else ErrorCode.preferred_leader_not_available
    if partition.leader != NO_LEADER:
        return ErrorCode.election_not_needed
    return ErrorCode.eligible_leaders_not_available
