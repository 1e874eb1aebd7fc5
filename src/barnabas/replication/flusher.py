"""fsync outside of the event loop, one call for many appends.

A log whose topic requires it (`flush.messages`, `flush.ms`), and a segment that was sealed by a roll, are
synced in a thread. Appends that arrive during a sync of their log share the next one: group commit. Callbacks
run on the loop.
"""

import asyncio
import logging
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from barnabas.base.background_threads import threads_of
from barnabas.base.errors import KafkaError
from barnabas.base.loop_holds import LoopHolds
from barnabas.storage.directory_worker import DirectoryStalled
from barnabas.storage.flush_plan import FlushPlan
from barnabas.storage.log import Log

logger = logging.getLogger("replication")

OnFlushed = Callable[[KafkaError | None], None]


class Flusher:
    def __init__(self, loop: AbstractEventLoop, executor: Executor, holds: LoopHolds | None = None) -> None:
        self._loop: AbstractEventLoop = loop
        self._executor: Executor = executor
        self._holds: LoopHolds = holds or LoopHolds()
        self._waiting: dict[Log, list[OnFlushed]] = {}
        self._running: dict[Log, Future[None]] = {}

    def request(self, log: Log, on_flushed: OnFlushed) -> None:
        """Sync all records of `log`. `on_flushed` gets None, or the error."""
        self._waiting.setdefault(log, []).append(on_flushed)
        if log not in self._running:
            self._start_waiting(log)

    def request_due(self, log: Log) -> None:
        """Sync what the flush policy requires: sealed segments, or everything. No request waits for it."""
        if log in self._running or log in self._waiting:
            return
        try:
            plan = log.due_flush_plan()
        except DirectoryStalled:
            return  # It is due again when the directory responds.
        if plan is not None:
            self._run(log, plan, [])

    def _start_waiting(self, log: Log) -> None:
        try:
            plan = log.flush_plan()
        except DirectoryStalled as stalled:
            stalled.worker.when_free(partial(self._retry, log))
            return
        callbacks = self._waiting.pop(log)
        if plan is None:
            _notify(callbacks, None)
        else:
            self._run(log, plan, callbacks)

    def _retry(self, log: Log) -> None:
        if log in self._waiting and log not in self._running:
            self._start_waiting(log)

    def _run(self, log: Log, plan: FlushPlan, callbacks: list[OnFlushed]) -> None:
        future = self._running[log] = self._loop.run_in_executor(
            threads_of(self._executor, log.directory.parent), plan.run
        )
        future.add_done_callback(
            lambda done: self._holds.run("end of a flush", lambda: self._finish(log, plan, callbacks, done))
        )

    def _finish(self, log: Log, plan: FlushPlan, callbacks: list[OnFlushed], done: "Future[None]") -> None:
        self._running.pop(log, None)
        if done.cancelled():
            return
        # The error is in the plan too: the log reads it there and refuses further work.
        failure = done.exception()
        error: KafkaError | None = None
        try:
            log.flushed(plan)
        except KafkaError as raised:
            error = raised
            logger.error("Cannot flush the log of %s: %s", log.topic_partition, raised.message)
        if failure is not None and error is None:
            raise failure
        _notify(callbacks, error)
        if log in self._waiting:
            self._start_waiting(log)
        elif error is None and not log.is_closed:
            self.request_due(log)  # A segment may have been sealed meanwhile.

    async def drain(self) -> None:
        """Wait for every sync that is running or queued: a log that is being flushed cannot be closed."""
        while self._running:
            await asyncio.wait(list(self._running.values()))
            await asyncio.sleep(0)  # Their callbacks start the next ones.


def _notify(callbacks: list[OnFlushed], error: KafkaError | None) -> None:
    for callback in callbacks:
        callback(error)
