"""Threads for work that blocks: a pool for each log directory, and one for the rest.

A disk that hangs takes the threads of its own directory and no others: flushes, checkpoints, cold reads and
unlinking elsewhere go on. Threads are started when they are first needed.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_SECONDS = 30.0
"""How long a round of work over all directories waits for one that does not respond."""


class BackgroundThreads(Executor):
    """`submit` uses the common pool, `of` gives the pool of a directory."""

    def __init__(self, size: int) -> None:
        self._size: int = size
        self._common: ThreadPoolExecutor = ThreadPoolExecutor(size, "background")
        self._pools: dict[Path, ThreadPoolExecutor] = {}

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._common.submit(fn, *args, **kwargs)

    def of(self, directory: Path) -> Executor:
        pool = self._pools.get(directory)
        if pool is None:
            name = f"background-{len(self._pools)}"
            pool = self._pools[directory] = ThreadPoolExecutor(self._size, name)
        return pool

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for pool in (self._common, *self._pools.values()):
            pool.shutdown(wait, cancel_futures=cancel_futures)


def threads_of(executor: Executor, directory: Path) -> Executor:
    """The threads for work in a log directory; an executor without pools serves all directories."""
    return executor.of(directory) if isinstance(executor, BackgroundThreads) else executor


class Rounds:
    """Repeated work over all log directories, in their own threads.

    A directory whose part of an earlier round has not returned is left out of the next ones.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor: Executor = executor
        self._unfinished: dict[Path, asyncio.Future[Any]] = {}

    async def run(
        self, jobs: Mapping[Path, Callable[[], T]], patience: float = PATIENCE_SECONDS
    ) -> dict[Path, "asyncio.Future[T]"]:
        """The parts that have ended within `patience` seconds, with whatever outcome."""
        loop = asyncio.get_running_loop()
        futures: dict[Path, asyncio.Future[T]] = {}
        for directory, job in jobs.items():
            earlier = self._unfinished.get(directory)
            if earlier is None or earlier.done():
                future = loop.run_in_executor(threads_of(self._executor, directory), job)
                self._unfinished[directory] = futures[directory] = future
        if futures:
            await asyncio.wait(futures.values(), timeout=patience)
        return {directory: future for directory, future in futures.items() if future.done()}
