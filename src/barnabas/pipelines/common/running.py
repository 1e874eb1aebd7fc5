"""Running a pipeline: start its queries, show progress, start a failed one again, stop them at a signal.

A query that fails (the broker was unavailable too long, an executor was lost) continues from its checkpoint:
results are exactly once, so a restart is always safe. The backoff grows with consecutive failures. A batch
that succeeds resets it.
"""

import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import FrameType
from typing import TYPE_CHECKING

from barnabas.pipelines.common.progress import ProgressLine
from barnabas.pipelines.common.queries import Query
from barnabas.pipelines.common.reasons import reason_of
from barnabas.pipelines.common.settings import Settings
from barnabas.pipelines.common.table_lock import hold, release

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK = 0.5
_LONGEST_WAIT = 30.0
_SETTLING = 60.0
_GRACE = 20.0
_FINAL = ("TableRefused: ", "InUse: ")
"""Errors of outputs that no restart can fix."""
_AT_WORK = ("Processing", "Waiting")
"""What Spark's status says of a query that has found its offsets."""


class _State(Enum):
    ACTIVE = auto()
    ENDED = auto()
    LOST = auto()


@dataclass(slots=True)
class _Running:
    query: Query
    stream: "StreamingQuery"
    failures: int = 0
    failed_batch: int = -1


class Runner:
    """The queries of one pipeline in one process. `run` returns the exit status."""

    def __init__(
        self,
        settings: Settings,
        line: ProgressLine | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings: Settings = settings
        self._line: ProgressLine = line or ProgressLine()
        self._clock: Callable[[], float] = clock
        self._stop: threading.Event = threading.Event()

    def run(self, queries: Sequence[Query]) -> int:
        """Raises InUse if another process runs one of the queries from the same checkpoint."""
        before = self._catch_signals()
        running: list[_Running] = []
        try:
            self._hold(queries)
            for query in queries:
                running.append(_Running(query, query.start(self._settings)))
                self._settle(running[-1].stream)
            while not self._stop.wait(_LOOK):
                self._line.show({each.query.name: each.stream for each in running}, self._clock())
                # One look at each: a query may fail between two.
                states = {self._look(each) for each in running}
                if _State.LOST in states:
                    return 1
                if states == {_State.ENDED}:
                    return 0
            return 0
        finally:
            for each in running:
                self._stop_between_batches(each.stream)
            self._line.end({each.query.name: each.stream for each in running})
            for query in queries:
                release(str(self._settings.checkpoint_of(query.name)))
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hold(self, queries: Sequence[Query]) -> None:
        for query in queries:
            checkpoint = self._settings.checkpoint_of(query.name)
            hold(checkpoint.with_name(f"{checkpoint.name}.lock"), f"checkpoint {checkpoint}", str(checkpoint))

    def _settle(self, stream: "StreamingQuery") -> None:
        """Wait until a query works. Each starts Python processes, which Spark gives 10 s to call back: all at
        once they may not make it on a small machine.
        """
        until = self._clock() + _SETTLING
        while stream.isActive and self._clock() < until and not self._stop.is_set():
            if str(stream.status["message"]).startswith(_AT_WORK) or stream.lastProgress:
                return
            self._stop.wait(_LOOK / 5)

    def _stop_between_batches(self, stream: "StreamingQuery") -> None:
        """A batch that is torn out is run again at the next start: right, but slow, and Spark fills the
        terminal with its traces. So wait for its end, but not for ever.
        """
        until = self._clock() + _GRACE
        while self._clock() < until and stream.isActive and stream.status["isTriggerActive"]:
            time.sleep(_LOOK / 10)
        stream.stop()

    def _look(self, each: _Running) -> _State:
        """How a query is. One that failed is started again here, unless it failed too often."""
        if each.stream.isActive:
            return _State.ACTIVE
        error = each.stream.exception()
        if error is None:
            return _State.ENDED
        if refusal := _refusal(error):
            self._line.say(f"{each.query.name}: {refusal}")
            return _State.LOST
        batch = int((each.stream.lastProgress or {"batchId": -1})["batchId"])
        if batch > each.failed_batch:
            each.failures = 0
        each.failures, each.failed_batch = each.failures + 1, max(batch, each.failed_batch)
        self._line.say(f"{each.query.name} failed: {reason_of(error)}")
        if each.failures > self._settings.restarts:
            return _State.LOST
        if self._stop.wait(min(2.0 ** (each.failures - 1), _LONGEST_WAIT)):
            return _State.ACTIVE
        each.stream = each.query.start(self._settings)
        self._line.say(f"{each.query.name} goes on from its checkpoint")
        return _State.ACTIVE

    def _catch_signals(self) -> dict[int, Callable[[int, FrameType | None], object] | int | None]:
        if threading.current_thread() is not threading.main_thread():
            return {}

        def stop(number: int, frame: FrameType | None) -> None:
            self._stop.set()

        return {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}


def _refusal(error: Exception) -> str:
    """The message of an output that refused the rows. Empty for an error that a restart may fix."""
    for line in str(error).splitlines():
        for word in _FINAL:
            if word in line:
                return line.partition(word)[2].strip()
    return ""
