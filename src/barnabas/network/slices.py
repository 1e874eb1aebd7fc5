"""Long work on the event loop in slices of a few milliseconds, one slice per pass of the loop.

A long coroutine awaits `pause` every few items. Within its slice, that costs a clock read. After that it
waits until every connection with something to read had its turn. All long work of a broker shares one queue,
so that ten long requests delay the others no more than one.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

SLICE_SECONDS = 0.004


class Slices:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock: Callable[[], float] = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled: bool = False
        self._end: float = float("-inf")
        """The time at which the current slice ends."""

    def begin(self) -> None:
        """Begin a slice now: for work that waits for no other work, such as a request that was just read."""
        self._end = self._clock() + SLICE_SECONDS

    @property
    def is_over(self) -> bool:
        return self._clock() >= self._end

    async def pause(self) -> None:
        """Return at once within the slice, otherwise at the beginning of the next slice."""
        if self._clock() < self._end:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._schedule()
        await turn
        self._end = self._clock() + SLICE_SECONDS

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Give a slice to the coroutine that waits longest.

        The next slice follows one pass of the loop later.
        """
        self._is_scheduled = False
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        if self._waiting:
            self._schedule()
