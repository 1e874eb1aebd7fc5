"""Values that go in and out of an append."""

from dataclasses import dataclass, field
from enum import Enum

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError


class AppendOrigin(Enum):
    """The origin of an append, which decides how much is checked."""

    CLIENT = "client"
    """A producer: sequences, epochs and format are checked."""
    COORDINATOR = "coordinator"
    """Group state and transaction markers: epochs are checked, there are no sequences."""
    REPLICATION = "replication"
    """The leader has checked everything."""


@dataclass(slots=True)
class AppendInfo:
    """What an append did. For a repeated batch: where it went the first time."""

    base_offset: int
    last_offset: int
    log_append_time: int
    """-1 with CreateTime."""
    log_start_offset: int
    max_timestamp: int = -1
    duplicate: bool = False
    leader_epoch_changed: bool = False
    rolled: bool = False


@dataclass(slots=True)
class LateAppend(AppendInfo):
    """An append that a log directory carries out when it responds again; its offsets are not known before."""

    base_offset: int = -1
    last_offset: int = 2**63 - 1
    log_append_time: int = -1
    log_start_offset: int = -1
    is_done: bool = False
    error: KafkaError | None = None
    waiting: list[Deferred[None]] = field(default_factory=list)
    """Done when it is acknowledged."""

    def complete(self, info: AppendInfo) -> None:
        self.is_done = True
        self.base_offset, self.last_offset = info.base_offset, info.last_offset
        self.log_append_time, self.log_start_offset = info.log_append_time, info.log_start_offset
        self.max_timestamp, self.duplicate, self.rolled = info.max_timestamp, info.duplicate, info.rolled

    def fail(self, error: KafkaError) -> None:
        self.is_done, self.error = True, error
