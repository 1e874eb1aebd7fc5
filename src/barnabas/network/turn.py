"""One pass of the event loop over the connections that have something to read.

If one connection has requests, each response is sent at once. If several connections have requests, all of
them are handled first, and then the responses are sent. A client with many connections then wakes up once for
all responses and sends its next requests together. Otherwise it would wake, and wake the broker, for each
(measured with 50 connections and a request in flight on each: 1.4 times the rate).
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any, Protocol

from barnabas.base.loop_holds import LoopHolds

TURN = 0.02
"""Seconds of requests of one connection after which the other connections have their turn."""
_SHORTEST_TURN = 0.0005


class Answering(Protocol):
    def send_answers(self) -> None: ...


OnHeld = Callable[[Any, memoryview, float], None]
"""Called with a connection, its request and the seconds it held the event loop, if longer than allowed."""


def _not_reported(connection: Any, frame: memoryview, seconds: float) -> None:
    """Report nothing."""


class Turn:
    def __init__(
        self, loop: AbstractEventLoop, holds: LoopHolds | None = None, on_held: OnHeld = _not_reported
    ) -> None:
        self._loop: AbstractEventLoop = loop
        self.clock: Callable[[], float] = (holds or LoopHolds()).clock
        self.on_held: OnHeld = on_held
        self.seconds: float = TURN
        """How long a connection may go on with its requests before the other connections have their turn."""
        self._greedy: set[Answering] = set()
        self._last: Answering | None = None
        self._answering: list[Answering] = []

    def used_up(self, connection: Answering) -> None:
        """The requests of the connection did not fit into its turn: all such connections share `TURN`."""
        self._greedy.add(connection)
        self._share()

    def left_over(self, connection: Answering) -> None:
        """A connection that used up a turn before now fits into its turn, or is closed."""
        self._greedy.discard(connection)
        self._share()

    def _share(self) -> None:
        self.seconds = max(TURN / max(len(self._greedy), 1), _SHORTEST_TURN)

    def begin(self, connection: Answering) -> bool:
        """Whether the connection is the one served last: then no other connection has requests."""
        is_alone = self._last is connection
        self._last = connection
        return is_alone

    def answer_at_end(self, connection: Answering) -> None:
        if not self._answering:
            self._loop.call_soon(self._end)
        self._answering.append(connection)

    def _end(self) -> None:
        answering, self._answering = self._answering, []
        for connection in answering:
            connection.send_answers()
