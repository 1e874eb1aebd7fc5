"""The names of what can go wrong, and one case of it with the records concerned.

The names are Jepsen's and Adya's. Kafka promises nothing against those of `ALLOWED`: the writes of
transactions are not isolated from each other, so between the records of one there may be records of others,
and two transactions may each write first to one of two partitions. A cycle with such an edge in it says as
little. They are counted, because a run in which none occurs has hardly been concurrent.
"""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    LOST_WRITE = "lost write"
    ABORTED_READ = "aborted read (G1a)"
    UNSENT_READ = "read of what was not sent"
    DUPLICATE = "duplicate"
    INCONSISTENT_OFFSET = "inconsistent offset"
    SKIPPED_POLL = "skipped poll"
    INTERNAL_SKIPPED_POLL = "skipped poll, internal"
    NONMONOTONIC_POLL = "non-monotonic poll"
    INTERNAL_NONMONOTONIC_POLL = "non-monotonic poll, internal"
    NONMONOTONIC_SEND = "non-monotonic send"
    INTERNAL_NONMONOTONIC_SEND = "non-monotonic send, internal"
    READ_BEFORE_COMMIT = "read before commit"
    PRECOMMITTED_READ = "precommitted read"
    WRITE_READ_CYCLE = "write-read cycle (G1c)"
    PROCESSED_TWICE = "processed twice"
    NEVER_PROCESSED = "never processed"
    TWO_LEADERS = "two leaders in an epoch"
    END_WENT_BACK = "end offset went back"
    GROUP_OFFSET_WENT_BACK = "group offset went back"
    REPLICAS_DIFFER = "replicas differ"
    INTERNAL_SKIPPED_SEND = "skipped send, internal"
    SKIPPED_SEND = "skipped send"
    WRITE_CYCLE = "write cycle (G0)"
    MIXED_CYCLE = "cycle of writes and reads"


ALLOWED = frozenset({Kind.INTERNAL_SKIPPED_SEND, Kind.SKIPPED_SEND, Kind.WRITE_CYCLE, Kind.MIXED_CYCLE})


@dataclass(frozen=True, slots=True)
class Anomaly:
    kind: Kind
    message: str
    values: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.message}"
