"""How parts of the broker run something later, on the event loop."""

import asyncio
from dataclasses import dataclass

from barnabas.base.loop_holds import LoopHolds
from barnabas.replication.hosted_logs import Schedule
from barnabas.runtime.alarm import CallLater, CallSoon


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A test gives functions of its own, and decides when they run."""

    call_soon: CallSoon
    call_later: CallLater
    between_requests: Schedule | None
    """For the creation and deletion of logs. None: nothing is deferred."""

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop, holds: LoopHolds) -> "Scheduler":
        return cls(
            loop.call_soon,
            loop.call_later,
            holds.named("log creation and deletion", loop.call_soon),
        )
