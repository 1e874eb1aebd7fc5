"""The one thread that talks to the metadata store.

Store calls block (a commit is an fsync), so they never run on the event loop. One thread keeps them in
order: a handler that awaited its change finds it applied.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class StoreThread:
    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor = ThreadPoolExecutor(1, thread_name_prefix="store")

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` on the store's thread.

        What it changed reached the loop before this returns: subscribers are told through the loop's own
        queue, ahead of the wake-up of whoever awaits here.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(function, *args, **kwargs))

    def close(self) -> None:
        self._executor.shutdown(wait=True)
