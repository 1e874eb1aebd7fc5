"""Progress of queries on the terminal: rows per second, lag, the last batch. One live line, or plain lines
in a log.

Lag is what the source knew to be there minus what the last batch has read, in records.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

_PLAIN_INTERVAL = 10.0


class Reporting(Protocol):
    """The part of a StreamingQuery that is looked at."""

    @property
    def lastProgress(self) -> Any: ...  # noqa: N802  (Spark's name)


@dataclass(frozen=True, slots=True)
class Progress:
    name: str
    rows_per_second: float
    lag: int | None
    batch: int
    seconds: float

    def __str__(self) -> str:
        lag = "?" if self.lag is None else f"{self.lag:,}"
        return (
            f"{self.name}: {self.rows_per_second:,.0f} rows/s, lag {lag}, "
            f"batch {self.batch} in {self.seconds:.1f} s"
        )


def progress_of(name: str, query: Reporting) -> Progress | None:
    """None before the first batch."""
    last = query.lastProgress
    if not last:
        return None
    sources = last["sources"]
    lags = [_lag(source["endOffset"], source["latestOffset"]) for source in sources]
    known = [lag for lag in lags if lag is not None]
    return Progress(
        name,
        float(last["processedRowsPerSecond"] or 0.0),
        sum(known) if known else None,
        last["batchId"],
        last["durationMs"].get("triggerExecution", 0) / 1000,
    )


def _lag(end: object, latest: object) -> int | None:
    there, read = _positions(latest), _positions(end)
    if not there or not read:
        return None
    return sum(max(0, offset - read.get(partition, 0)) for partition, offset in there.items())


def _positions(offsets: object) -> dict[tuple[str, str], int]:
    """`{"topic": {"0": 5}}`, as text or not; keys that are no topics (initial offsets) are left alone."""
    try:
        topics = json.loads(offsets) if isinstance(offsets, str) else offsets
    except ValueError:
        return {}
    if not isinstance(topics, Mapping):
        return {}
    return {
        (topic, partition): offset
        for topic, partitions in topics.items()
        if isinstance(partitions, Mapping)
        for partition, offset in partitions.items()
        if isinstance(offset, int)
    }


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
