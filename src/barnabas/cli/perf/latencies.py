"""The counters of a producer test: records, bytes and latencies, per window and in total.

Latencies are whole milliseconds. At most half a million are kept for the percentiles: every n-th of a longer
test. Mean and maximum are of all records.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

_MOST_KEPT = 500_000
_MEGABYTE = 1024 * 1024
PERCENTILES = (0.5, 0.95, 0.99, 0.999)


class Total(NamedTuple):
    records: int
    seconds: float
    size: int
    mean_ms: float
    max_ms: int
    percentiles_ms: tuple[int, ...]
    """One for each of PERCENTILES."""

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds if self.seconds else 0.0

    @property
    def megabytes_per_second(self) -> float:
        return self.size / _MEGABYTE / self.seconds if self.seconds else 0.0


class Latencies:
    def __init__(
        self,
        expected: int,
        interval: float,
        on_window: Callable[["Total", bool], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Calls `on_window(window, is_first)` with the sums of each interval."""
        self._clock: Callable[[], float] = clock
        self._start: float = clock()
        self._every: int = max(1, expected // _MOST_KEPT)
        self._interval: float = interval
        self._on_window: Callable[[Total, bool], None] = on_window
        self._kept: list[int] = []
        self._count: int = 0
        self._size: int = 0
        self._sum: int = 0
        self._max: int = 0
        self._window_start: float = self._start
        self._before: tuple[int, int, int] = (0, 0, 0)
        """Count, size and sum of latencies when the window began."""
        self._window_max: int = 0
        self.is_silent: bool = False

    @property
    def count(self) -> int:
        return self._count

    def record(self, sent: float, size: int) -> None:
        """A record of `size` bytes that was sent at `sent` has just been acknowledged."""
        now = self._clock()
        latency = int((now - sent) * 1000)
        if self._count % self._every == 0:
            self._kept.append(latency)
        self._count += 1
        self._size += size
        self._sum += latency
        if latency > self._window_max:
            self._window_max = latency
            self._max = max(self._max, latency)
        if now - self._window_start >= self._interval:
            self._end_window(now)

    def total(self) -> Total:
        kept = sorted(self._kept)
        last = len(kept) - 1
        percentiles = tuple(kept[min(last, int(part * len(kept)))] if kept else 0 for part in PERCENTILES)
        mean = self._sum / self._count if self._count else 0.0
        return Total(self._count, self._clock() - self._start, self._size, mean, self._max, percentiles)

    def _end_window(self, now: float) -> None:
        count, size, latency = (
            now_ - then for now_, then in zip((self._count, self._size, self._sum), self._before, strict=True)
        )
        if not self.is_silent:
            window = Total(count, now - self._window_start, size, latency / count, self._window_max, ())
            self._on_window(window, self._before[0] == 0)
        self._before = self._count, self._size, self._sum
        self._window_start = now
        self._window_max = 0


def window_line(window: Total) -> str:
    """Kafka's line for an interval."""
    return (
        f"{window.records} records sent, {window.records_per_second:.1f} records/sec "
        f"({window.megabytes_per_second:.2f} MB/sec), {window.mean_ms:.1f} ms avg latency, "
        f"{window.max_ms:.1f} ms max latency."
    )


def total_line(total: Total, *, is_steady_state: bool = False) -> str:
    """Kafka's last line."""
    p50, p95, p99, p999 = total.percentiles_ms
    return (
        f"{total.records}{' steady state' if is_steady_state else ''} records sent, "
        f"{total.records_per_second:f} records/sec ({total.megabytes_per_second:.2f} MB/sec), "
        f"{total.mean_ms:.2f} ms avg latency, {total.max_ms:.2f} ms max latency, "
        f"{p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
    )
