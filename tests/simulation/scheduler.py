"""Virtual time, and the order in which everything of a simulation happens.

A simulation is one thread. What can happen next is either a callback that is ready on the event loop of a
node (`node_loop`), or the next event in virtual time: a timer, bytes that arrive, a thread that gets its
turn. Ready callbacks of one node run in order, as asyncio guarantees; which node goes on is drawn from the
seed. A callback takes some microseconds of virtual time, so that events happen between two callbacks as well.

The same seed gives the same trace. What code under simulation must not do, because it makes the order depend
on addresses, hashes or the machine: iterate over a set of objects or of strings, sort by `id`, read the time
of the machine, draw from its entropy, start threads, act in `__del__`. `sealed` takes care of time and
entropy.
"""

import heapq
import itertools
import random
import zlib
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

_CALLBACK_SECONDS = 20e-6
"""A callback takes up to this long in virtual time."""
_CALLBACKS_PER_SECOND = 90_000
"""On average 100,000 fit if one callback follows the other."""
_KEPT_LINES = 4000


class SimulationError(Exception):
    """The simulated program cannot go on."""


class Deadlock(SimulationError):
    """Nothing is left to run, and what was waited for has not happened."""


class Livelock(SimulationError):
    """Callbacks follow each other without end."""


class TimeLimit(SimulationError):
    """What was waited for has not happened within the virtual time given for it."""


class Runnable(Protocol):
    """An event loop that has callbacks to run."""

    name: str

    def run_one(self) -> tuple[str, bool]:
        """Run the next callback. Returns its name, and whether there are more."""
        ...


class Event:
    """Something that will happen at a time, unless it is cancelled."""

    __slots__ = ("action", "is_cancelled", "label", "when")

    def __init__(self, when: float, label: str, action: Callable[[], None]) -> None:
        self.when: float = when
        self.label: str = label
        self.action: Callable[[], None] = action
        self.is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Trace:
    """What has happened: the last lines, and a digest of all of them."""

    def __init__(self) -> None:
        self.digest: int = 0
        self.count: int = 0
        self.lines: deque[tuple[float, str, str]] = deque(maxlen=_KEPT_LINES)

    def add(self, now: float, who: str, what: str) -> None:
        line = (now, who, what)
        self.digest = zlib.crc32(repr(line).encode(), self.digest)
        self.count += 1
        self.lines.append(line)

    def most_frequent(self) -> str:
        found = Counter(f"{who}: {what}" for _, who, what in self.lines).most_common(3)
        return ", ".join(f"{what} ({count} of the last {len(self.lines)})" for what, count in found)

    def __str__(self) -> str:
        return "\n".join(f"{now:12.6f} {who:12} {what}" for now, who, what in self.lines)


class Scheduler:
    def __init__(self, seed: int) -> None:
        self.seed: int = seed
        self.now: float = 0.0
        """Seconds of virtual time since the simulation began."""
        self.trace: Trace = Trace()
        self.unexpected: list[str] = []
        """Errors that no code handled: callbacks that raised, tasks that failed unseen."""
        self._choice: random.Random = self.stream("choice")
        self._events: list[tuple[float, int, Event]] = []
        self._numbers: itertools.count[int] = itertools.count()
        self._ready: list[Runnable] = []
        self.most_callbacks: int = _CALLBACKS_PER_SECOND
        """So many callbacks within one virtual second are a livelock."""
        self._second: int = 0
        self._callbacks: int = 0
        """Callbacks in the current second."""

    def stream(self, name: str) -> random.Random:
        """A source of randomness of its own for each purpose: more draws for one do not change the others."""
        return random.Random(f"{self.seed}/{name}")

    # --- what will happen -------------------------------------------------------------------------------

    def at(self, when: float, label: str, action: Callable[[], None]) -> Event:
        event = Event(max(when, self.now), label, action)
        heapq.heappush(self._events, (event.when, next(self._numbers), event))
        return event

    def after(self, seconds: float, label: str, action: Callable[[], None]) -> Event:
        return self.at(self.now + seconds, label, action)

    def add_ready(self, runnable: Runnable) -> None:
        """The loop has a callback to run, and had none before."""
        self._ready.append(runnable)

    def remove_ready(self, runnable: Runnable) -> None:
        """The loop is paused or has ended."""
        if runnable in self._ready:
            self._ready.remove(runnable)

    # --- what happens -----------------------------------------------------------------------------------

    def step(self) -> bool:
        """Let one thing happen. Returns False if nothing is left."""
        event = self._next_event()
        if event is not None and (event.when <= self.now or not self._ready):
            heapq.heappop(self._events)
            self.now = max(self.now, event.when)
            self.trace.add(self.now, "event", event.label)
            event.action()
            return True
        if not self._ready:
            return False
        self._run_ready()
        return True

    def _next_event(self) -> Event | None:
        events = self._events
        while events and events[0][2].is_cancelled:
            heapq.heappop(events)
        return events[0][2] if events else None

    def _run_ready(self) -> None:
        index = self._choice.randrange(len(self._ready)) if len(self._ready) > 1 else 0
        chosen = self._ready[index]
        self.now += self._choice.random() * _CALLBACK_SECONDS
        started = self.now
        label, has_more = chosen.run_one()
        self.trace.add(started, chosen.name, label)
        if not has_more and chosen in self._ready:
            self._ready.remove(chosen)
        self._count_callback()

    def _count_callback(self) -> None:
        second = int(self.now)
        if second != self._second:
            self._second, self._callbacks = second, 0
        self._callbacks += 1
        if self._callbacks > self.most_callbacks:
            raise Livelock(f"callbacks follow each other without end: {self.trace.most_frequent()}")

    def run_for(self, seconds: float) -> None:
        """Let everything happen that happens in the next seconds."""
        end = self.at(self.now + seconds, "end of a run", lambda: None).when
        while self.now < end:
            self.step()

    def run_until(self, is_done: Callable[[], bool], limit: float, what: str = "a condition") -> None:
        """Raises Deadlock, or TimeLimit if `is_done` is not true within `limit` seconds."""
        end = self.now + limit
        while not is_done():
            if self.now > end:
                raise TimeLimit(f"{what} was not reached within {limit:g} s of virtual time")
            if not self.step():
                raise Deadlock(f"nothing is left to run, and {what} was not reached")
