"""The way of every request: connection, principal, stages, handler, stages, response.

A stage decides about requests (authorisation, quotas, injected faults) or measures them. Stages see each
request before its handler and again when its response is complete, in reverse order. That holds for every way
through the broker: requests that a shortcut of the connection answers, requests that wait, requests without a
response, malformed requests. A handler does not know the stages.

A broker without stages has no pipeline: the connection calls the dispatcher (`handlers.dispatch`).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.handlers.exchange import Exchange
from barnabas.network.connection import Connection, OnFrame
from barnabas.network.request_memory import RequestMemory
from barnabas.network.responses import Parts, Pending
from barnabas.network.send_queue import sent_mark

logger = logging.getLogger("requests")

_NO_FRAME = memoryview(b"")
_DEFECT = "Unexpected error in a stage of the request pipeline: the connection of %r is closed"


class Respond(NamedTuple):
    """Send these parts. In `before`: without the handler. They include the length of the frame."""

    parts: Parts


class Drop(NamedTuple):
    """Send nothing. In `before`: without the handler. Also the way to refuse a Produce with acks=0."""


class Delay(NamedTuple):
    """Go on after `seconds`. Later requests of the connection wait."""

    seconds: float


class Disconnect(NamedTuple):
    """Close the connection."""

    reason: str


Verdict = Respond | Drop | Delay | Disconnect


class Stage:
    """Base class. A stage overrides what it needs.

    `after` is called exactly once for each request for which `before` was called. If a stage raises an
    exception, the connection is closed: a request that could not be authorised is not handled.
    """

    is_idle: bool = False
    """While every stage is idle, requests go straight to their handlers."""

    def before(self, exchange: Exchange) -> Verdict | None:
        """The request was taken from the connection. None: go on."""

    def after(self, exchange: Exchange) -> Verdict | None:
        """The response is complete, or there is none. None: go on.

        If the connection is closed (`exchange.is_disconnected`), the verdict has no effect.
        """

    def sent(self, exchange: Exchange) -> None:
        """The socket has taken the whole response. Not called if the connection was closed before."""


class Pipeline:
    def __init__(
        self,
        handle: OnFrame,
        stages: Sequence[Stage],
        loop: asyncio.AbstractEventLoop,
        monotonic: Callable[[], float],
        memory: RequestMemory | None = None,
    ) -> None:
        self.handle: OnFrame = handle
        self.stages: tuple[Stage, ...] = tuple(stages)
        self.watching: tuple[Stage, ...] = tuple(each for each in stages if type(each).sent is not Stage.sent)
        """The stages that want to know when a response is sent."""
        self.loop: asyncio.AbstractEventLoop = loop
        self.monotonic: Callable[[], float] = monotonic
        self.memory: RequestMemory = memory or RequestMemory()

    def on_frame(self, connection: Connection, frame: memoryview) -> Parts | Pending | None:
        """Called by the connection for each request, in order."""
        for stage in self.stages:
            if not stage.is_idle:
                return _Passage(self, Exchange(connection, frame, self.monotonic())).start()
        return self.handle(connection, frame)


class _Passage:
    """One exchange on its way: forward through `before`, the handler, back through `after`."""

    __slots__ = ("_begun", "_copied", "_exchange", "_inner", "_is_over", "_pending", "_pipeline", "_timer")

    def __init__(self, pipeline: Pipeline, exchange: Exchange) -> None:
        self._pipeline: Pipeline = pipeline
        self._exchange: Exchange = exchange
        self._begun: int = 0
        """How many stages had their `before` and not yet their `after`."""
        self._pending: Pending | None = None
        """Given to the connection if the response is not complete at once."""
        self._inner: Pending | None = None
        """The handler's, while it waits."""
        self._timer: asyncio.TimerHandle | None = None
        self._copied: int = 0
        """Bytes of the copy of a delayed request."""
        self._is_over: bool = False

    def start(self) -> Parts | Pending | None:
        self._forward()
        if self._is_over:
            return self._exchange.response
        inner = self._inner
        self._pending = Pending(holds_back=inner is None or inner.holds_back, cancel=self._cancelled)
        return self._pending

    # --- before -------------------------------------------------------------------------------------------

    def _forward(self) -> None:
        """Pass the stages that are left, then handle the request."""
        stages, exchange = self._pipeline.stages, self._exchange
        try:
            while self._begun < len(stages):
                self._begun += 1
                verdict = stages[self._begun - 1].before(exchange)
                if exchange.connection.is_closed:
                    return self._complete(None)
                if isinstance(verdict, Delay):
                    self._copy_frame()
                    return self._later(verdict.seconds, self._forward)
                if verdict is not None:
                    return self._complete(_parts_of(verdict, exchange))
        except Exception:
            logger.exception(_DEFECT, exchange.connection)
            self._close()
            return self._complete(None)
        return self._handle()

    def _handle(self) -> None:
        exchange = self._exchange
        result = self._pipeline.handle(exchange.connection, exchange.frame)
        exchange.frame = _NO_FRAME
        self._free_copy()
        exchange.handled = self._pipeline.monotonic()
        if isinstance(result, Pending) and not result.is_done:
            self._inner = result
            result.when_complete(self._on_change)
            if self._pending is not None:  # after a delay: the connection waits for `_pending`
                self._on_change()
            return
        self._complete(result.parts if isinstance(result, Pending) else result)

    def _on_change(self) -> None:
        """The response that the handler owes is complete, or later requests may go on."""
        inner = self._inner
        assert inner is not None
        if inner.is_done:
            self._complete(inner.parts)
        elif not inner.holds_back and self._pending is not None:
            self._pending.release()

    # --- after --------------------------------------------------------------------------------------------

    def _complete(self, parts: Parts | None) -> None:
        if self._is_over:
            return
        self._free_copy()
        exchange = self._exchange
        exchange.completed = self._pipeline.monotonic()
        exchange.is_disconnected = exchange.connection.is_closed
        exchange.response = parts or None
        self._back()

    def _back(self) -> None:
        stages, exchange = self._pipeline.stages, self._exchange
        while self._begun:
            self._begun -= 1
            try:
                verdict = stages[self._begun].after(exchange)
            except Exception:
                logger.exception(_DEFECT, exchange.connection)
                self._close()
                continue
            if verdict is None or exchange.is_disconnected:
                continue
            if isinstance(verdict, Delay):
                return self._later(verdict.seconds, self._back)
            exchange.response = _parts_of(verdict, exchange)
        return self._finish()

    def _finish(self) -> None:
        exchange = self._exchange
        if self._is_over:  # a stage closed the connection
            return
        self._is_over = True
        if exchange.connection.is_closed:
            exchange.response = None
        if exchange.response is not None and self._pipeline.watching:
            exchange.response = [*exchange.response, sent_mark(self._on_sent)]
        if self._pending is not None:
            self._pending.complete(exchange.response or [])

    def _on_sent(self) -> None:
        self._exchange.sent = self._pipeline.monotonic()
        try:
            for stage in self._pipeline.watching:
                stage.sent(self._exchange)
        except Exception:
            logger.exception(_DEFECT, self._exchange.connection)
            self._close()

    # --- waiting and ends ---------------------------------------------------------------------------------

    def _later(self, seconds: float, go_on: Callable[[], None]) -> None:
        self._timer = self._pipeline.loop.call_later(seconds, go_on)

    def _cancelled(self) -> None:
        """The connection is closed. What waits for the request ends; every stage gets its `after`."""
        if self._timer is not None:
            self._timer.cancel()
        if self._inner is not None:
            self._inner.cancel()
        self._complete(None)

    def _copy_frame(self) -> None:
        """The receive buffer is used again while the request is delayed."""
        if not self._copied:
            self._exchange.frame = memoryview(bytes(self._exchange.frame))
            self._copied = len(self._exchange.frame)
            self._pipeline.memory.hold(self._copied)

    def _free_copy(self) -> None:
        if self._copied:
            self._pipeline.memory.free(self._copied)
            self._copied = 0

    def _close(self) -> None:
        """A stage failed."""
        self._exchange.connection.close("internal error", is_fault=True)
        self._exchange.is_disconnected = True


def _parts_of(verdict: Verdict, exchange: Exchange) -> Parts | None:
    if isinstance(verdict, Respond):
        return verdict.parts
    if isinstance(verdict, Disconnect):
        exchange.connection.close(verdict.reason, is_fault=True)
        exchange.is_disconnected = True
    return None
