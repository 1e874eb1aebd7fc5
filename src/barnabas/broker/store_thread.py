"""The one thread that talks to the metadata store.

Store calls block (a commit is an fsync), so they never run on the event loop. One thread keeps them in
order: a handler that awaited its change finds it applied.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class StoreThread:
    def __init__(self) -> None:
        self.when_applied: Callable[[], Awaitable[None]] = _at_once
        """Waits until this broker has applied the changes of metadata that it knows."""
        self._executor: ThreadPoolExecutor = ThreadPoolExecutor(1, thread_name_prefix="store")

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` on the store's thread.

        What it changed is applied before this returns: subscribers are told through the loop's own
        queue, ahead of the wake-up of whoever awaits here, and a long change is waited for.
        """
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(self._executor, partial(function, *args, **kwargs))
        await self.when_applied()
        return result

    def close(self) -> None:
        self._executor.shutdown(wait=True)


async def _at_once() -> None:
    """Nobody applies anything yet."""
