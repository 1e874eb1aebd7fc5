"""Periodic jobs: each has its own interval, runs on the loop, and never overlaps itself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from barnabas.base.loop_holds import LoopHolds

logger = logging.getLogger("broker")


class Periodic:
    def __init__(self, holds: LoopHolds | None = None) -> None:
        self._holds: LoopHolds = holds or LoopHolds()
        self._tasks: list[asyncio.Task[None]] = []

    def every(
        self,
        interval: Callable[[], float],
        job: Callable[[], Coroutine[Any, Any, None]],
        *,
        name: str,
        first_after: float | None = None,
    ) -> None:
        """Run `job` periodically. The interval (seconds) is read before each round, as it may change."""

        async def measured() -> None:
            await self._holds.measured(f"job {name}", job())

        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(_repeat(interval, measured, name, first_after)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()


async def _repeat(
    interval: Callable[[], float], job: Callable[[], Awaitable[None]], name: str, first_after: float | None
) -> None:
    pause = interval() if first_after is None else first_after
    while True:
        await asyncio.sleep(pause)
        try:
            await job()
        except Exception:
            # One failed round must not end all later ones. Errors of a disk are reported elsewhere.
            logger.exception("Periodic job %s failed; it will run again", name)
        pause = interval()
