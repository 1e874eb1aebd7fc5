"""Changes of the cluster metadata, applied to this broker one after the other, each in small steps.

A change of thousands of topics is applied topic by topic, a few milliseconds at a time, so that other
requests are handled in between. Changes are applied in order. A request that changes the store waits for
`applied`, and then sees its change.

A topic that is in the image and not applied yet gets UNKNOWN_TOPIC_OR_PARTITION, which clients retry.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator

from barnabas.base.loop_holds import LoopHolds
from barnabas.metadata.cluster import ClusterChange
from barnabas.network.slices import Slices

logger = logging.getLogger("broker")

NAME = "metadata change"
Apply = Callable[[ClusterChange], Iterator[None]]
"""Applies a change. Each step takes well under a millisecond."""


class MetadataChanges:
    """Belongs to the event loop's thread."""

    def __init__(self, apply: Apply, slices: Slices, holds: LoopHolds) -> None:
        self._apply: Apply = apply
        self._slices: Slices = slices
        self._holds: LoopHolds = holds
        self._waiting: deque[ClusterChange] = deque()
        self._task: asyncio.Task[None] | None = None

    def add(self, change: ClusterChange) -> None:
        """Apply the change: at once if it is small and no other change is queued."""
        if self._task is not None:
            self._waiting.append(change)
            return
        self._slices.begin()
        steps = self._guarded(change)
        if not self._holds.run(NAME, lambda: self._finished(steps)):
            self._task = asyncio.get_running_loop().create_task(self._run(steps))

    async def applied(self) -> None:
        """Return when every change that was added before is applied."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def stop(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _finished(self, steps: Iterator[None]) -> bool:
        """Continue until the end of the slice. Returns whether all steps are done."""
        for _ in steps:  # noqa: SIM110  the generator is used again if it is not at its end
            if self._slices.is_over:
                return False
        return True

    async def _run(self, steps: Iterator[None]) -> None:
        try:
            await self._holds.measured(NAME, self._apply_all(steps))
        finally:
            self._task = None

    async def _apply_all(self, steps: Iterator[None]) -> None:
        while True:
            for _ in steps:
                await self._slices.pause()
            if not self._waiting:
                return
            steps = self._guarded(self._waiting.popleft())

    def _guarded(self, change: ClusterChange) -> Iterator[None]:
        try:
            yield from self._apply(change)
        except Exception:
            # An error must not end the queue: the next change is still applied.
            logger.exception("Unexpected error: a change of the cluster metadata is only partly applied")
