"""Work that comes back: each job has its own interval, runs on the loop, and never overlaps itself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger("broker")


class Periodic:
    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def every(
        self,
        interval: Callable[[], float],
        job: Callable[[], Awaitable[None]],
        *,
        name: str,
        first_after: float | None = None,
    ) -> None:
        """Run `job` again and again; the interval (seconds) is asked for each time, as it may change."""
        self._tasks.append(asyncio.get_running_loop().create_task(_repeat(interval, job, name, first_after)))

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
            # One failed round must not end all later ones; what is wrong with a disk is told elsewhere.
            logger.exception("Periodic job %s failed; it will run again", name)
        pause = interval()
