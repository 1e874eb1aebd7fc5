"""Keeps a cleaning below `log.cleaner.io.max.bytes.per.second`, reading and writing counted together."""

import time
from collections.abc import Callable

from barnabas.storage.cleaning.job import NO_LIMIT

_PERIOD = 0.3
"""Seconds over which the rate is looked at, as in Kafka's cleaner."""


class Throttle:
    def __init__(
        self,
        bytes_per_second: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate: float = bytes_per_second
        self._monotonic: Callable[[], float] = monotonic
        self._sleep: Callable[[float], None] = sleep
        self._since: float = monotonic()
        self._bytes: int = 0

    def note(self, size: int) -> None:
        """Account for `size` bytes; sleeps when they came too soon."""
        if self._rate >= NO_LIMIT:
            return
        self._bytes += size
        elapsed = self._monotonic() - self._since
        ahead = self._bytes / self._rate - elapsed
        if elapsed < _PERIOD and ahead < _PERIOD:
            return
        if ahead > 0:
            self._sleep(ahead)
        self._since = self._monotonic()
        self._bytes = 0
