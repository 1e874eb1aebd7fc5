"""Threads of a simulated process: work of executors, done at a seeded moment in virtual time.

A piece of work begins some time after it was submitted, runs as a whole at one moment, and its outcome is
known some time later. Work of an executor with one thread is done in order; with several threads, pieces that
are under way at the same time may overtake each other. A piece that costs time (a slow disk) says so with
`spend`.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tests.simulation.scheduler import Scheduler

if TYPE_CHECKING:
    from tests.simulation.node_loop import NodeLoop

P = ParamSpec("P")
T = TypeVar("T")

_MOST_SECONDS = 0.002
_DEFAULT_THREADS = 4


class SimulatedExecutor(Executor):
    """So many threads of one node."""

    def __init__(self, threads: "SimulatedThreads", count: int) -> None:
        self._threads: SimulatedThreads = threads
        self._idle: int = count
        self._queue: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future: Future[T] = Future()
        self._queue.append((future, lambda: fn(*args, **kwargs)))
        self._begin_next()
        return future

    def _begin_next(self) -> None:
        if self._idle and self._queue:
            self._idle -= 1
            future, work = self._queue.popleft()
            self._threads.later(lambda: self._run(future, work))

    def _run(self, future: "Future[Any]", work: Callable[[], Any]) -> None:
        outcome: Any = None
        error: BaseException | None = None
        if future.set_running_or_notify_cancel():
            self._threads.is_working = True
            try:
                outcome = work()
            except Exception as raised:  # noqa: BLE001  the future carries it
                error = raised
            finally:
                self._threads.is_working = False
        self._threads.later(lambda: self._end(future, outcome, error), self._threads.take_spent())

    def _end(self, future: "Future[Any]", outcome: Any, error: BaseException | None) -> None:
        if error is not None:
            future.set_exception(error)
        elif not future.cancelled():
            future.set_result(outcome)
        self._idle += 1
        self._begin_next()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Work that was submitted is done; there is no thread to end."""


class SimulatedThreads:
    """All threads of one node."""

    def __init__(self, loop: "NodeLoop", scheduler: Scheduler) -> None:
        self._loop: NodeLoop = loop
        self._scheduler: Scheduler = scheduler
        self._delays = scheduler.stream(f"threads of {loop.name}")
        self._executors: dict[Executor | None, SimulatedExecutor] = {}
        """What stands in for the executors that the code of the node has made."""
        self._held: list[Callable[[], None]] = []
        """What became due while the node was paused."""
        self._spent: float = 0.0
        self.is_working: bool = False
        """A thread works, not the loop."""

    def executor(self, count: int) -> SimulatedExecutor:
        return SimulatedExecutor(self, count)

    def of(self, executor: Executor | None) -> SimulatedExecutor:
        if isinstance(executor, SimulatedExecutor):
            return executor
        found = self._executors.get(executor)
        if found is None:
            count: int = getattr(executor, "_max_workers", 0) or getattr(executor, "_size", _DEFAULT_THREADS)
            found = self._executors[executor] = SimulatedExecutor(self, count)
        return found

    def later(self, action: Callable[[], None], seconds: float = 0.0) -> None:
        """Do something on a thread of the node: after a moment, not while it is paused, not if it is dead."""
        seconds += self._delays.random() * _MOST_SECONDS
        self._scheduler.after(seconds, f"thread of {self._loop.name}", lambda: self._due(action))

    def _due(self, action: Callable[[], None]) -> None:
        if self._loop.is_dead:
            return
        if self._loop.is_paused:
            self._held.append(action)
        else:
            action()

    def resume(self) -> None:
        held, self._held = self._held, []
        for action in held:
            self.later(action)

    def spend(self, seconds: float) -> None:
        """The work that runs now takes so long."""
        self._spent += seconds

    def spend_if_working(self, seconds: float) -> None:
        """As `spend`, but the loop is not held up: what it reads is in the page cache."""
        if self.is_working:
            self._spent += seconds

    def take_spent(self) -> float:
        spent, self._spent = self._spent, 0.0
        return spent


class InOrder:
    """One thread of a node that is given functions from outside, late, and runs them in order."""

    def __init__(self, threads: SimulatedThreads, delay: Callable[[], float]) -> None:
        self._threads: SimulatedThreads = threads
        self._delay: Callable[[], float] = delay
        self._queue: deque[Callable[[], None]] = deque()

    def __call__(self, action: Callable[[], None]) -> None:
        self._queue.append(action)
        # Whichever of the turns comes first takes what was given first.
        self._threads.later(lambda: self._queue.popleft()(), self._delay())
