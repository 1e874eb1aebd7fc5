"""What all logs of a broker are opened with."""

from dataclasses import dataclass, field

from barnabas.base.descriptors import DescriptorLimits
from barnabas.storage.producer_state import DEFAULT_EXPIRATION_MS


@dataclass(frozen=True, slots=True)
class LogsSettings:
    node_id: int
    cluster_id: str | None = None
    """None: the one that the directories have, or a new one."""
    recovery_threads: int = 2
    producer_expiration_ms: int = DEFAULT_EXPIRATION_MS
    delete_delay_ms: int = 60_000
    """For partitions that are deleted without having been opened."""
    descriptors: DescriptorLimits = field(default_factory=DescriptorLimits.of_process)
