"""What all partitions of a broker share, and how far a fetch may read them."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from barnabas.base.clock import Clock
from barnabas.base.errors import UnknownServerError
from barnabas.base.ids import TopicPartition
from barnabas.metadata.isr_proposal import IsrProposal
from barnabas.replication.flusher import Flusher
from barnabas.replication.hosted_logs import HostedLogs
from barnabas.replication.isr_proposals import Proposer
from barnabas.storage.log_slice import LogSlice

READ_COMMITTED = 1


class FetchIsolation(Enum):
    """How far a fetch may read: Kafka's name for it."""

    LOG_END = "log end"
    """Followers."""
    HIGH_WATERMARK = "high watermark"
    COMMITTED = "last stable offset"
    """Consumers that read committed records only."""


class ReadResult(NamedTuple):
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    records: LogSlice | None


Propose = Callable[[Proposer, IsrProposal], None]


def no_controller(partition: Proposer, proposal: IsrProposal) -> None:
    raise UnknownServerError(f"No controller is known for the ISR of {partition.topic_partition}")


def no_fetchers(topic_partition: TopicPartition) -> None:
    """A broker alone follows no other."""


def never_eligible(broker_id: int, epoch: int) -> bool:
    return False


def no_epoch(broker_id: int) -> int:
    return -1


@dataclass(slots=True)
class PartitionEnvironment:
    """What all partitions of a broker share."""

    broker_id: int
    logs: HostedLogs
    flusher: Flusher
    clock: Clock
    replica_lag_time_max_ms: int
    propose: Propose = no_controller
    """Sends a proposed in-sync set to the controller."""
    is_eligible: Callable[[int, int], bool] = never_eligible
    """Whether a broker with this epoch may join an in-sync set."""
    epoch_of: Callable[[int], int] = no_epoch
    """The registered epoch of a live broker; -1 if it has no session."""
    on_role: Callable[[TopicPartition], None] = no_fetchers
    """Called after the role of this broker for a partition may have changed."""
