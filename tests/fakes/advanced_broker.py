"""A broker whose wall clock a test can set ahead: time that passes while it is stopped costs no waiting."""

from pathlib import Path

from barnabas.base.clock import SystemClock
from barnabas.testing import Broker
from barnabas.testing.broker import Host
from barnabas.testing.thread import ThreadHost


class AdvancedClock(SystemClock):
    """The system's clock, with a wall time that can be ahead of it."""

    def __init__(self) -> None:
        self.ahead_ms: int = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms


class AdvancedBroker(Broker):
    """In a thread of this process; change `clock.ahead_ms` while it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.clock: AdvancedClock = AdvancedClock()

    def _new_host(self, directory: Path) -> Host:
        return ThreadHost(self.clock)
