"""AlterPartition: a leader proposes an ISR, and the controller decides (KIP-497, KIP-903).

The checks and their order are those of Kafka's ReplicationControlManager, with one before them: an equal
state is success, because a leader repeats a proposal whose response was lost (KAFKA-14144).
"""

import logging
from collections.abc import Sequence

from barnabas.base.errors import ErrorCode, StaleBrokerEpoch
from barnabas.controller.controller import Controller
from barnabas.controller.partition_change import Election, PartitionChange
from barnabas.controller.reconciliation import Brokers, Decision
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.metadata.isr_proposal import UNKNOWN_BROKER_EPOCH, IsrProposal, IsrResult

logger = logging.getLogger("controller")


def check_broker_epoch(image: ClusterImage, broker_id: int, broker_epoch: int) -> None:
    """Raise StaleBrokerEpoch unless the broker is registered with this epoch."""
    known = image.registrations.get(broker_id)
    if known is None or not known.is_alive or known.broker.epoch != broker_epoch:
        raise StaleBrokerEpoch(f"Broker {broker_id} is not registered with epoch {broker_epoch}.")


def alter_partitions(
    controller: Controller, broker_id: int, broker_epoch: int, proposals: Sequence[IsrProposal]
) -> list[IsrResult]:
    """Decide about the proposals of one leader and write them in one transaction."""
    image = controller.image
    check_broker_epoch(image, broker_id, broker_epoch)
    brokers = Brokers(image.registrations)
    decisions: list[Decision] = []
    results: list[IsrResult] = []
    for proposal in proposals:
        topic = image.topic_by_id.get(proposal.topic_id)
        if topic is None:
            results.append(IsrResult(proposal, ErrorCode.unknown_topic_id))
            continue
        partition = topic.partitions.get(proposal.partition)
        electable = brokers.electable_for(topic, proposal.partition)
        error = _refusal(image, electable, broker_id, partition, proposal)
        if partition is None or error is not ErrorCode.none:
            results.append(IsrResult(proposal, error))
            continue
        results.append(_decide(controller, topic, partition, proposal, brokers, decisions))
    if decisions:
        controller.write(decisions)
    return [_with_state(controller.image, result) for result in results]


def _decide(
    controller: Controller,
    topic: TopicImage,
    partition: PartitionImage,
    proposal: IsrProposal,
    brokers: Brokers,
    decisions: list[Decision],
) -> IsrResult:
    if _is_in_force(partition, proposal):
        return IsrResult(proposal, state=partition)
    policy = controller.policy
    electable = brokers.electable_for(topic, partition.partition)
    change = PartitionChange(partition, electable.__contains__, policy.min_isr(topic))
    change.isr = tuple(number for number, _ in proposal.isr)
    change.is_recovering = proposal.is_recovering
    if policy.allows_unclean_election(topic):
        change.election = Election.UNCLEAN
    after = change.apply()
    if after is not partition:
        decisions.append(Decision(topic, after))
        logger.debug("ISR of %s-%d: %s to %s", topic.name, partition.partition, partition.isr, after.isr)
    if after.leader != partition.leader:
        # The proposal completed a reassignment that removes its leader.
        return IsrResult(proposal, ErrorCode.new_leader_elected)
    return IsrResult(proposal, state=after)


def _with_state(image: ClusterImage, result: IsrResult) -> IsrResult:
    """The result with the state as written: its version is the new partition epoch."""
    if result.state is None:
        return result
    topic = image.topic_by_id.get(result.proposal.topic_id)
    state = None if topic is None else topic.partitions.get(result.proposal.partition)
    if state is None:
        return IsrResult(result.proposal, ErrorCode.unknown_topic_id)
    return IsrResult(result.proposal, state=state)


def _is_in_force(partition: PartitionImage, proposal: IsrProposal) -> bool:
    return (
        {number for number, _ in proposal.isr} == set(partition.isr)
        and proposal.leader_epoch == partition.leader_epoch
        and proposal.is_recovering == partition.is_recovering
    )


def _refusal(
    image: ClusterImage,
    electable: frozenset[int],
    broker_id: int,
    partition: PartitionImage | None,
    proposal: IsrProposal,
) -> ErrorCode:
    if partition is None:
        return ErrorCode.unknown_topic_or_partition
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.state_version:
        return ErrorCode.not_controller  # The leader knows more: this broker was deposed (KAFKA-14154).
    if proposal.leader_epoch < partition.leader_epoch:
        return ErrorCode.fenced_leader_epoch
    if broker_id != partition.leader:
        return ErrorCode.invalid_request
    if _is_in_force(partition, proposal):
        return ErrorCode.none
    if proposal.partition_epoch < partition.state_version:
        return ErrorCode.invalid_update_version
    isr = [number for number, _ in proposal.isr]
    if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas) or broker_id not in isr:
        return ErrorCode.invalid_request
    if proposal.is_recovering and (len(isr) > 1 or not partition.is_recovering):
        return ErrorCode.invalid_request
    if any(not _is_eligible(image, electable, *member) for member in proposal.isr):
        return ErrorCode.ineligible_replica
    return ErrorCode.none


def _is_eligible(image: ClusterImage, electable: frozenset[int], broker_id: int, broker_epoch: int) -> bool:
    """A member of the ISR may lead, is active, and has the epoch that the leader saw."""
    known = image.registrations.get(broker_id)
    if known is None or not known.is_active or broker_id not in electable:
        return False
    return broker_epoch in (UNKNOWN_BROKER_EPOCH, known.broker.epoch)
