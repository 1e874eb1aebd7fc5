"""AlterPartition (56), versions 2 and 3: the leader of a partition proposes its ISR (KIPs 497, 704, 903).

Brokers send it to the controller. A broker that is not the controller answers NOT_CONTROLLER for the whole
request, a metadata store that does not respond is the same: the leader repeats its proposal. Version 2 has no
broker epochs, so the members of the proposed ISR are not checked against their registrations.
"""

from collections import defaultdict
from typing import TYPE_CHECKING
from uuid import UUID

from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.ids import ZERO_UUID
from barnabas.controller.isr_changes import alter_partitions
from barnabas.handlers.context import ControllerContext, Request
from barnabas.metadata.isr_proposal import UNKNOWN_BROKER_EPOCH, IsrProposal, IsrResult
from barnabas.metadata.store import StoreError
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.alter_partition.v3.request import AlterPartitionRequest, PartitionData

_FIRST_WITH_BROKER_EPOCHS = 3


async def handle(context: ControllerContext, request: Request) -> Reply:
    body: AlterPartitionRequest = request.raw
    proposals = [
        _proposal(topic.topic_id or ZERO_UUID, each, request.version)
        for topic in body.topics
        for each in topic.partitions
    ]
    try:
        results = await context.store.run(
            alter_partitions, context.controller, body.broker_id, body.broker_epoch, proposals
        )
    except KafkaError as error:
        return Reply(error_code=error.code, topics=[])
    except StoreError:
        return Reply(error_code=ErrorCode.not_controller, topics=[])
    topics: dict[UUID, list[Reply]] = defaultdict(list)
    for result in results:
        topics[result.proposal.topic_id].append(_result(result))
    return Reply(
        error_code=ErrorCode.none,
        topics=[Reply(topic_id=topic, partitions=partitions) for topic, partitions in topics.items()],
    )


def _proposal(topic_id: UUID, each: "PartitionData", version: int) -> IsrProposal:
    if version >= _FIRST_WITH_BROKER_EPOCHS:
        isr = tuple((int(member.broker_id), int(member.broker_epoch)) for member in each.new_isr_with_epochs)
    else:
        isr = tuple((int(member), UNKNOWN_BROKER_EPOCH) for member in each.new_isr)  # type: ignore[attr-defined]
    return IsrProposal(
        topic_id,
        each.partition_index,
        each.leader_epoch,
        each.partition_epoch,
        isr,
        bool(each.leader_recovery_state),
    )


def _result(result: IsrResult) -> Reply:
    number, state = result.proposal.partition, result.state
    if state is None:
        return Reply(partition_index=number, error_code=result.error)
    return Reply(
        partition_index=number,
        error_code=result.error,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        leader_recovery_state=int(state.is_recovering),
        partition_epoch=state.state_version,
    )
