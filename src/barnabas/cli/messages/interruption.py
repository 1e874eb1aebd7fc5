"""Handles Ctrl-C and SIGTERM, so that a tool can deliver, commit and count before it ends.

Only the main thread gets signals. In other threads the context managers do nothing.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """Raised by a signal. Not an Exception, so that no handler in between catches it."""

    def __init__(self, number: int) -> None:
        self.number: int = number
        self.code: int = 128 + number
        """The exit status of a program that a signal ended, as in shells."""


class Stop:
    """A flag that a signal sets, for loops that check it."""

    def __init__(self) -> None:
        self.code: int = 0

    def __bool__(self) -> bool:
        return self.code != 0


@contextmanager
def raised() -> Iterator[None]:
    """The first signal raises Interrupted. Later signals are ignored until the block ends."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    with _handled(interrupt):
        yield


@contextmanager
def noticed() -> Iterator[Stop]:
    """A signal only sets the flag, for code whose callbacks must not be interrupted."""
    stop = Stop()

    def note(number: int, frame: FrameType | None) -> None:
        stop.code = 128 + number

    with _handled(note):
        yield stop


@contextmanager
def _handled(handler: object) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in _SIGNALS}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
