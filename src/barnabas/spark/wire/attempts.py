"""How long, and how often, something is tried again: pauses that grow, until a time has passed.

The clock starts anew with every progress: only a row of failures without one is an end.
"""

import time
from collections.abc import Callable, Collection
from typing import TypeVar

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, ClientError, TimedOut, Unreachable

LONGEST_PAUSE = 1.0
CONCURRENT_TRANSACTIONS = 51
_SHORT_PAUSE = 0.02
"""An earlier transaction is being completed: a matter of milliseconds (Kafka's producer waits as long)."""
T = TypeVar("T")


class Attempts:
    def __init__(self, timeout: float, backoff: float) -> None:
        self._timeout: float = timeout
        self._backoff: float = backoff
        self._pause: float = backoff
        self._deadline: float = time.monotonic() + timeout

    def progressed(self) -> None:
        self._pause = self._backoff
        self._deadline = time.monotonic() + self._timeout

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._deadline

    def failed(self, error: ClientError, pause: float | None = None) -> None:
        """Wait before the next attempt; raises `error` where there is no time for one."""
        pause = self._pause if pause is None else pause
        if time.monotonic() + pause > self._deadline:
            raise error
        time.sleep(pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def passes(error: ClientError, also: Collection[int] = ()) -> bool:
    """Whether the same may succeed a moment later: a broker is away, or says so."""
    if isinstance(error, BrokerError):
        return error.is_retriable or error.code in also
    return isinstance(error, Unreachable | TimedOut)


def tried(
    cluster: Cluster, attempt: Callable[[], T], *, timeout: float, backoff: float, also: Collection[int] = ()
) -> T:
    """`attempt` until it succeeds, or fails in a way that does not pass, or the time is over.

    What the cluster has learnt is forgotten between two attempts. `also` are further codes that pass.
    """
    attempts = Attempts(timeout, backoff)
    while True:
        try:
            return attempt()
        except ClientError as error:
            if not passes(error, also):
                raise
            is_busy = isinstance(error, BrokerError) and error.code == CONCURRENT_TRANSACTIONS
            attempts.failed(error, _SHORT_PAUSE if is_busy else None)
            if not is_busy:
                cluster.forget()
