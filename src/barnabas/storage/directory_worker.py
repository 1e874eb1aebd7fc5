"""The thread through which the event loop uses a log directory that may hang.

The loop hands an operation over and waits for it, a few milliseconds at most. That is the usual case, and
then nothing differs from a plain call but some microseconds. An operation that takes longer has met a disk
that hangs: the directory is stalled. The operation goes on in its thread and comes to its end exactly once;
others are queued behind it in order, or refused with `DirectoryStalled`; the loop serves the other
directories. When the queue is empty the directory is used as before.

While a directory is stalled the loop touches none of its logs: its thread does. Calls from other threads are
plain calls.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from barnabas.base.errors import StorageBusy

_logger = logging.getLogger(__name__)

T = TypeVar("T")
Notify = Callable[[Callable[[], None]], object]

PATIENCE_SECONDS = 0.02


class Job(Generic[T]):
    """An operation on its way through the thread."""

    def __init__(self, action: Callable[[], T]) -> None:
        self._action: Callable[[], T] = action
        self._outcome: tuple[T | None, Exception | None] | None = None
        self._running: threading.Lock = threading.Lock()
        self._running.acquire()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_done(self) -> bool:
        return self._outcome is not None

    def run(self) -> None:
        try:
            self._outcome = self._action(), None
        except Exception as error:  # noqa: BLE001  raised again by `result`, where the operation was called
            self._outcome = None, error
        self._running.release()

    def wait(self, seconds: float) -> bool:
        return self._running.acquire(timeout=seconds)

    def result(self) -> T:
        assert self._outcome is not None
        result, error = self._outcome
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # without an error it is a T

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call back on the loop; for a job that its caller could not wait for."""
        self._callbacks.append(callback)

    def report(self) -> None:
        for callback in self._callbacks:
            try:
                callback()
            except Exception:
                _logger.exception("Unexpected error in the callback of a delayed disk operation")


class DirectoryStalled(StorageBusy):
    """The directory does not respond. With a `job` the operation is still carried out, without it is not."""

    def __init__(self, worker: "DirectoryWorker", job: Job[Any] | None) -> None:
        super().__init__(f"the log directory {worker.path} does not respond")
        self.worker: DirectoryWorker = worker
        self.job: Job[Any] | None = job


class DirectoryWorker:
    def __init__(self, path: Path, patience: float = PATIENCE_SECONDS) -> None:
        self.path: Path = path
        self.is_stalled: bool = False
        self.patience: float = patience
        """How long the loop waits for an operation before the directory counts as stalled, in seconds."""
        self._owner: int | None = None
        self._notify: Notify | None = None
        self._queue: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._late: deque[Job[Any]] = deque()
        """Jobs whose callers no longer wait: their outcome is reported on the loop, in order."""
        self._when_free: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def start(self, notify: Notify) -> None:
        """Guard the calling thread, an event loop's; `notify` runs a function there, from any thread."""
        self._owner, self._notify = threading.get_ident(), notify
        self._thread = threading.Thread(target=self._work, name=f"disk {self.path}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Carry out what is queued and end the thread; blocks for as long as the disk hangs."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = self._owner = None

    @property
    def is_guarding(self) -> bool:
        """Whether the calling thread is the one that must not wait."""
        return threading.get_ident() == self._owner

    def check(self) -> None:
        """Raise `DirectoryStalled` if the loop may not touch the directory's logs now."""
        if self.is_stalled and self.is_guarding:
            raise DirectoryStalled(self, None)

    def run(self, action: Callable[[], T]) -> T:
        """Carry out an operation, which is refused while the directory is stalled."""
        if not self.is_guarding:
            return action()
        if self.is_stalled:
            raise DirectoryStalled(self, None)
        job = Job(action)
        self._queue.put(job)
        if job.wait(self.patience):
            return job.result()
        _logger.warning(
            "the log directory %s does not respond: its partitions wait, others go on. Check the disk",
            self.path,
        )
        self.is_stalled = True
        self._late.append(job)
        if job.is_done:
            self._settle_soon()
        raise DirectoryStalled(self, job)

    def submit(self, action: Callable[[], T]) -> T:
        """The same for an operation that must be carried out: while the directory is stalled it is queued."""
        if not (self.is_stalled and self.is_guarding):
            return self.run(action)
        job = Job(action)
        self._late.append(job)
        self._queue.put(job)
        raise DirectoryStalled(self, job)

    def when_free(self, callback: Callable[[], None]) -> None:
        """Call back on the loop when a stalled directory responds again."""
        self._when_free.append(callback)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            job.run()
            if self._late:
                self._settle_soon()

    def _settle_soon(self) -> None:
        assert self._notify is not None
        self._notify(self._settle)

    def _settle(self) -> None:
        while self._late and self._late[0].is_done:
            self._late.popleft().report()
        if self._late or not self.is_stalled:
            return
        self.is_stalled = False
        _logger.info("the log directory %s responds again", self.path)
        callbacks, self._when_free = self._when_free, []
        for callback in callbacks:
            callback()
