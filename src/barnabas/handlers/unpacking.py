"""Batches that have to be unpacked, away from the event loop.

The codecs work in threads, without the GIL; records are looked at in slices of the loop (`network.slices`),
because a thread that runs Python takes the interpreter from all others. At most four batches are
unpacked at a time: that bounds the memory, to four times what a batch may unpack to.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from barnabas.base.steps import Steps
from barnabas.network.slices import Slices
from barnabas.records.deep_validation import DeepValidation

T = TypeVar("T")

_MOST_AT_A_TIME = 4
_THREADS = 2
_RECORDS_PER_STEP = 400
"""About a quarter of a millisecond."""


class Unpacking:
    def __init__(self) -> None:
        self.turns: asyncio.Semaphore = asyncio.Semaphore(_MOST_AT_A_TIME)
        """Held while a batch is being unpacked."""
        # Its own threads: others may be held up by a disk.
        self._threads: ThreadPoolExecutor = ThreadPoolExecutor(_THREADS, thread_name_prefix="unpacking")

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def run(self, steps: Steps[T], slices: Slices) -> T:
        """Do `steps`, calling in threads what is to be called there, one batch at a time."""
        has_turn = False
        value: Any = None
        failure: Exception | None = None
        try:
            while True:
                work = steps.send(value) if failure is None else steps.throw(failure)
                value, failure = None, None
                if work is None:
                    await slices.pause()
                    continue
                if not has_turn:
                    await self.turns.acquire()
                    has_turn = True
                try:
                    value = await self.in_thread(work)
                except Exception as error:  # noqa: BLE001  for the steps to handle
                    failure = error
                await slices.pause()
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            if has_turn:
                self.turns.release()

    async def validate(self, validation: DeepValidation, slices: Slices) -> None:
        """Do all but the last step of a validation; raises what it raises."""
        async with self.turns:
            try:
                await self.in_thread(validation.unpack)
                await slices.pause()
                while not validation.scan(_RECORDS_PER_STEP):
                    await slices.pause()
                if validation.must_pack:
                    await self.in_thread(validation.pack)
            finally:
                validation.release()
