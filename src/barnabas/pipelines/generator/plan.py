"""`Plan`: everything a run of the generator depends on. The same plan makes the same events, byte for byte.
`Plan`: everything a run of the generator depends on. The same plan makes the same events, byte for byte.
"""

import random
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The subject of an event; the value is the topic it goes to unless another is chosen."""

    LOG = "access-logs"
    ACTIVITY = "activity"
    METRIC = "metrics"


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    start_ms: int
    """The time of the first event, in ms since 1970."""
    span: float
    """Seconds of event time that are covered."""
    rate: float
    """Events of all kinds per second of event time, on average over the span."""
    late: float = 0.02
    """The share of events that are sent late, hence out of order."""
    max_lateness: float = 240.0
    duplicates: float = 0.01
    """The share of page views and clicks that are sent twice."""
    malformed: float = 0.005
    """Lines that cannot be parsed, as a share of the good ones; they come on top."""

    @property
    def end_ms(self) -> int:
        return self.start_ms + int(self.span * 1000)

    def moment(self, share: float) -> int:
        """The time when that share of the span has passed."""
        return self.start_ms + int(share * self.span * 1000)

    def chance(self, purpose: str) -> random.Random:
        """A source of chance of its own for each purpose: more of one kind does not change the others."""
        return random.Random(f"{self.seed}/{self.start_ms}/{purpose}")
