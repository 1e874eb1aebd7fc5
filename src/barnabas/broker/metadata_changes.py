"""Changes of the cluster's metadata, applied to this broker one after the other, each in small steps.

A change that names thousands of topics is applied topic by topic, a few milliseconds at a time, so that other
requests are served in between. Changes never overtake each other. Whoever changed something through the
store waits for `applied` and then finds it done.

A topic that is in the image and not applied yet is UNKNOWN_TOPIC_OR_PARTITION, which clients retry.
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
"""Applies a change; each step between two results takes well under a millisecond."""


class MetadataChanges:
    """Belongs to the event loop's thread."""

    def __init__(self, apply: Apply, slices: Slices, holds: LoopHolds) -> None:
        self._apply: Apply = apply
        self._slices: Slices = slices
        self._holds: LoopHolds = holds
        self._waiting: deque[ClusterChange] = deque()
        self._task: asyncio.Task[None] | None = None

    def add(self, change: ClusterChange) -> None:
        """Apply the change: at once if it is small and none is before it."""
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
        """Go on until the end of the slice; whether that was all."""
        for _ in steps:  # noqa: SIM110  a generator that is not at its end is used again
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
            # The next change must not find the queue ended by this one.
            logger.exception("A change of the cluster's metadata could not be applied completely")
