"""Values that go in and out of an append."""

from dataclasses import dataclass
from enum import Enum


class AppendOrigin(Enum):
    """Who appends, which decides how much is checked."""

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
