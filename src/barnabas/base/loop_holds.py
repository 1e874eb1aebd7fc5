"""How long single steps held the event loop: counted and logged when they took longer than the budget.

The loop serves every client, so no step may hold it longer than `HOLD_SECONDS`. A step is one request, or one
callback with a name: a housekeeping job, a change of the metadata, a timer. The caller that runs steps reads
`clock` before and after and calls `note` if `HOLD_SECONDS` passed; a step within the budget costs the two
clock reads only. Tests that must pass on a busy machine measure the thread's CPU time instead of wall time.

A full garbage collection blocks the step in which it happens. It is a step of its own here, and its time is
not counted as the other's.

Belongs to the loop's thread. `worst` and `counts` may be read anywhere.
"""

import logging
import time
import types
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

logger = logging.getLogger("loop")

HOLD_SECONDS = 0.02
_LOG_INTERVAL_SECONDS = 10.0
_MAX_NAMES = 200
_OTHER = "other"
COLLECTION = "garbage collection"

T = TypeVar("T")


@dataclass(slots=True)
class HoldCount:
    """The holds of one kind of step."""

    count: int = 0
    worst_seconds: float = 0.0
    total_seconds: float = 0.0
    last_logged: float = float("-inf")
    not_logged: int = 0


class LoopHolds:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock: Callable[[], float] = clock
        self.counts: dict[str, HoldCount] = {}
        """Kinds of steps that held the loop longer than `HOLD_SECONDS`: API names, names of jobs."""
        self._collection: tuple[float, float] = (float("-inf"), 0.0)
        """When the last long garbage collection began, by `clock`, and how long it took."""

    @property
    def count(self) -> int:
        return sum(each.count for each in list(self.counts.values()))

    @property
    def worst_seconds(self) -> float:
        return max((each.worst_seconds for each in list(self.counts.values())), default=0.0)

    def summary(self) -> dict[str, tuple[int, float]]:
        """For each kind of step: how many held the loop too long, and the longest in seconds."""
        return {name: (each.count, each.worst_seconds) for name, each in list(self.counts.items())}

    def note_collection(self, began: float) -> None:
        """A garbage collection in the loop's thread, that began at `began` by `clock`, has just ended."""
        seconds = self.clock() - began
        if seconds > HOLD_SECONDS:
            self._count(COLLECTION, seconds, "")
            self._collection = began, seconds

    def note(self, name: str, seconds: float, details: str = "") -> None:
        """A step of the kind `name`, that has just ended, held the loop for `seconds`."""
        began, collecting = self._collection
        if began >= self.clock() - seconds:
            seconds -= collecting
        if seconds > HOLD_SECONDS:
            self._count(name, seconds, details)

    def _count(self, name: str, seconds: float, details: str) -> None:
        """Logged once in ten seconds per kind."""
        if name not in self.counts and len(self.counts) >= _MAX_NAMES:
            name = _OTHER
        held = self.counts.setdefault(name, HoldCount())
        held.count += 1
        held.total_seconds += seconds
        held.worst_seconds = max(held.worst_seconds, seconds)
        now = time.monotonic()
        if now - held.last_logged < _LOG_INTERVAL_SECONDS:
            held.not_logged += 1
            return
        more = f"; {held.not_logged} more since the last message" if held.not_logged else ""
        held.last_logged, held.not_logged = now, 0
        logger.warning(
            "%s held the event loop for %.0f ms, other clients waited%s%s",
            name,
            seconds * 1000,
            f" ({details})" if details else "",
            more,
        )

    def run(self, name: str, function: Callable[[], T]) -> T:
        """Call `function` as one step."""
        started = self.clock()
        try:
            return function()
        finally:
            seconds = self.clock() - started
            if seconds > HOLD_SECONDS:
                self.note(name, seconds)

    def named(
        self, name: str, schedule: Callable[[Callable[[], None]], T]
    ) -> Callable[[Callable[[], None]], T]:
        """`schedule` (`loop.call_soon`) for callbacks that are steps of the kind `name`."""
        return lambda function: schedule(lambda: self.run(name, function))

    def named_later(
        self, name: str, schedule: Callable[[float, Callable[[], None]], T]
    ) -> Callable[[float, Callable[[], None]], T]:
        """The same for `loop.call_later`."""
        return lambda delay, function: schedule(delay, lambda: self.run(name, function))

    @types.coroutine
    def measured(
        self, name: str, work: Coroutine[Any, Any, T], details: Callable[[], str] = str
    ) -> Generator[Any, Any, T]:
        """Await `work`; each of its steps between two suspensions is measured."""
        value: Any = None
        failure: BaseException | None = None
        while True:
            started = self.clock()
            try:
                awaited = work.send(value) if failure is None else work.throw(failure)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            finally:
                seconds = self.clock() - started
                if seconds > HOLD_SECONDS:
                    self.note(name, seconds, details())
            value, failure = None, None
            try:
                value = yield awaited
            except BaseException as error:  # noqa: BLE001  cancelled, or what was awaited failed: the work's to handle
                failure = error
