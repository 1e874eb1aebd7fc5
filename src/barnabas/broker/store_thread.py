"""The one thread that calls the metadata store.

Store calls block (a commit is an fsync), so they never run on the event loop. One thread keeps them in order:
a handler that awaited its change sees it applied.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class StoreThread:
    def __init__(self, executor: Executor) -> None:
        """`executor` has one worker."""
        self.when_applied: Callable[[], Awaitable[None]] = _at_once
        """Waits until this broker has applied the metadata changes that it knows."""
        self._executor: Executor = executor

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` on the store's thread.

        Its changes are applied before this returns: subscribers are called through the loop's own queue,
        before the awaiting caller wakes up, and a long change is awaited.
        """
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(self._executor, partial(function, *args, **kwargs))
        await self.when_applied()
        return result

    def close(self) -> None:
        self._executor.shutdown(wait=True)


async def _at_once() -> None:
    """Return at once: no changes are applied yet."""
