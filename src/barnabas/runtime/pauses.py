"""Waiting for time, or for the loop's turn to end, as a result (`base.deferred`)."""

from barnabas.base.deferred import Deferred
from barnabas.runtime.alarm import CallLater, CallSoon


def pause(call_later: CallLater, seconds: float) -> Deferred[None]:
    over: Deferred[None] = Deferred()
    call_later(seconds, lambda: over.complete(None))
    return over


def end_of_turn(call_soon: CallSoon) -> Deferred[None]:
    over: Deferred[None] = Deferred()
    call_soon(lambda: over.complete(None))
    return over
