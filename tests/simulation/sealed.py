"""Time and entropy of the machine, replaced while a simulation runs.

Code under simulation gets its clock and its randomness as arguments. Where some code does not, it would make
two runs of one seed differ. Within `sealed`, what reads the machine's time gets virtual time, and what draws
from its entropy gets seeded bytes. Pools of threads work in line. `os.sendfile` moves bytes between simulated
files and simulated sockets.
"""

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from unittest import mock

from tests.simulation.clock import BEGINNING_MS
from tests.simulation.scheduler import Scheduler

from barnabas.storage import closing

SendFile = Callable[[int, int, int, int], int]


class InlinePool:
    """Stands in for a pool of threads that its maker waits for: does the work at once, in order."""

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return [work(each) for each in items]


@contextmanager
def sealed(scheduler: Scheduler, send_file: SendFile | None = None) -> Iterator[None]:
    rng = scheduler.stream("entropy")
    state = random.getstate()
    random.seed(f"{scheduler.seed}/global")

    def entropy(size: int) -> bytes:
        return rng.randbytes(size)

    def seconds() -> float:
        return scheduler.now

    def nanoseconds() -> int:
        return int(scheduler.now * 1e9)

    replaced: list[tuple[Any, str, Callable[..., Any]]] = [
        (os, "urandom", entropy),
        (random, "_urandom", entropy),
        (time, "monotonic", seconds),
        (time, "perf_counter", seconds),
        (time, "monotonic_ns", nanoseconds),
        (time, "time", lambda: BEGINNING_MS / 1000 + scheduler.now),
        (closing, "ThreadPoolExecutor", InlinePool),
        (time, "time_ns", lambda: BEGINNING_MS * 1_000_000 + nanoseconds()),
    ]
    if send_file is not None:
        replaced.append((os, "sendfile", send_file))
    patches = [mock.patch.object(*each) for each in replaced]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.stop()
        random.setstate(state)
