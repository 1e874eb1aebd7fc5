"""An event loop whose time jumps to the next timer as soon as nothing else is ready."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(AssertionError):
    """Nothing is ready and no timer is set: what the test waits for cannot happen."""


class _JumpingSelector(selectors.DefaultSelector):
    now: float = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Deadlock
            # A little more than the distance: the sum of floats may fall short of the timer.
            self.now += timeout + 1e-9 if timeout > 0 else 0.0
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.jumping: _JumpingSelector = _JumpingSelector()
        super().__init__(self.jumping)

    def time(self) -> float:
        return self.jumping.now


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


async def elapse(seconds: float) -> None:
    """Let virtual time go by: what is due meanwhile happens, and no real time passes."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    loop.call_later(seconds, over.set_result, None)
    await over
