"""Progress of queries on the terminal: rows per second, lag, the last batch. One live line, or plain lines
in a log.

Lag is what the source knew to be there minus what the last batch has read, in records
(`offsetsBehindLatest` of `barnabas.spark.progress`). If several topics lag, those that lag most are named.
"""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from barnabas.spark.query_progress import progress

_PLAIN_INTERVAL = 10.0
_NAMED_TOPICS = 3


class Reporting(Protocol):
    """The part of a StreamingQuery that is looked at."""

    @property
    def lastProgress(self) -> Any: ...  # noqa: N802  (Spark's name)


@dataclass(frozen=True, slots=True)
class Progress:
    name: str
    rows_per_second: float
    lags: Mapping[str, int]
    """By topic; empty if the source does not report it."""
    batch: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.rows_per_second:,.0f} rows/s, lag {self._lag}, "
            f"batch {self.batch} in {self.seconds:.1f} s"
        )

    @property
    def _lag(self) -> str:
        if not self.lags:
            return "?"
        total = f"{sum(self.lags.values()):,}"
        most = sorted((lag, topic) for topic, lag in self.lags.items() if lag)[-_NAMED_TOPICS:]
        if len(self.lags) == 1 or not most:
            return total
        return f"{total} ({', '.join(f'{topic} {lag:,}' for lag, topic in reversed(most))})"


def progress_of(name: str, query: Reporting) -> Progress | None:
    """None before the first batch."""
    last = progress(query)
    if last is None:
        return None
    lags: dict[str, int] = {}
    for source in last["sources"]:
        for topic, lag in source.get("offsetsBehindLatest", {}).items():
            lags[topic] = lags.get(topic, 0) + lag
    return Progress(
        name,
        float(last.get("processedRowsPerSecond") or 0.0),
        lags,
        last["batchId"],
        last.get("durationMs", {}).get("triggerExecution", 0) / 1000,
    )


class ProgressLine:
    """Shows the progress of queries: `show` now and then, `end` when they have ended."""

    def __init__(self, output: TextIO | None = None) -> None:
        self._output: TextIO = output or sys.stderr
        self._live: bool = self._output.isatty()
        self._shown: dict[str, int] = {}
        self._next: float = 0.0

    def show(self, queries: Mapping[str, Reporting], now: float) -> None:
        states = [state for name, query in queries.items() if (state := progress_of(name, query))]
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            line = "  |  ".join(map(str, states))[:width]
            self._output.write(f"\r\x1b[K{line}")
            self._output.flush()
        elif now >= self._next:
            self._next = now + _PLAIN_INTERVAL
            self._new(states)

    def end(self, queries: Mapping[str, Reporting]) -> None:
        """The last state of each query, on a line of its own."""
        if self._live:
            self._output.write("\r\x1b[K")
        self._shown.clear()
        self._new([state for name, query in queries.items() if (state := progress_of(name, query))])

    def say(self, text: str) -> None:
        self._output.write(f"\r\x1b[K{text}\n" if self._live else f"{text}\n")
        self._output.flush()

    def _new(self, states: list[Progress]) -> None:
        """A line for each query that has a new batch."""
        for state in states:
            if self._shown.get(state.name) != state.batch:
                self._shown[state.name] = state.batch
                self._output.write(f"{state}\n")
        self._output.flush()
