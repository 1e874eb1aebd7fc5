"""What a leader proposes to the controller, and the controller's answer (AlterPartition, KIP-497)."""

from dataclasses import dataclass
from uuid import UUID

from barnabas.base.errors import ErrorCode
from barnabas.metadata.image import PartitionImage

UNKNOWN_BROKER_EPOCH = -1


@dataclass(frozen=True, slots=True)
class IsrProposal:
    """What a leader wants the state of one partition to become."""

    topic_id: UUID
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    """Broker and its epoch, or UNKNOWN_BROKER_EPOCH."""
    is_recovering: bool = False


@dataclass(frozen=True, slots=True)
class IsrResult:
    proposal: IsrProposal
    error: ErrorCode = ErrorCode.none
    state: PartitionImage | None = None
    """The state that is in force. Only without an error. Its replicas are not known to a remote leader."""
