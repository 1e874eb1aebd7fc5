"""Validates a member's offset commits: by its epoch, or by each partition's assignment epoch (KIP-1251)."""

from barnabas.base.errors import IllegalGeneration, KafkaError, StaleMemberEpoch, UnsupportedVersion
from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.environment import ShardEnvironment
from barnabas.group.group import ALLOW, CommitValidator

_FIRST_VERSION_WITH_EPOCHS = 9


def validate_commit(
    member: ConsumerMember, epoch: int, version: int, environment: ShardEnvironment, *, is_transactional: bool
) -> CommitValidator:
    """Raises if the member may commit nothing. The returned validator raises for single partitions."""
    if not is_transactional and not member.uses_classic_protocol and version < _FIRST_VERSION_WITH_EPOCHS:
        raise UnsupportedVersion(
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol"
        )
    if epoch == member.epoch:
        return ALLOW
    if epoch > member.epoch:
        raise _refusal(
            member, f"Received {_noun(member)} {epoch} is newer than current member epoch {member.epoch}."
        )
    return _by_assignment_epoch(member, epoch, environment)


def epoch_mismatch(member: ConsumerMember, epoch: int) -> KafkaError:
    return _refusal(
        member,
        f"The received {_noun(member)} {epoch} does not match the expected member epoch {member.epoch}.",
    )


def _by_assignment_epoch(
    member: ConsumerMember, epoch: int, environment: ShardEnvironment
) -> CommitValidator:
    """A member that does not know its newest epoch yet may commit partitions that it already owned."""

    def check(topic: str, partition: int) -> None:
        image = environment.image.topics.get(topic)
        assigned_at = None if image is None else member.assignment_epoch_of(image.topic_id, partition)
        if assigned_at is None:
            raise _refusal(
                member, f"Partition {topic}-{partition} is not assigned or pending revocation for member."
            )
        if epoch < assigned_at:
            raise _refusal(
                member,
                f"Received {_noun(member)} {epoch} is older than assignment epoch {assigned_at} "
                f"for partition {topic}-{partition}.",
            )

    return check


def _noun(member: ConsumerMember) -> str:
    return "generation id" if member.uses_classic_protocol else "member epoch"


def _refusal(member: ConsumerMember, message: str) -> KafkaError:
    return IllegalGeneration(message) if member.uses_classic_protocol else StaleMemberEpoch(message)
