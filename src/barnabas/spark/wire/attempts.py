"""Retries with exponential backoff until a timeout.

The timeout starts again with every progress: only consecutive failures reach it.
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

    def pause(self) -> None:
        """Wait before the next attempt, not beyond the deadline."""
        time.sleep(max(0.0, min(self._pause, self._deadline - time.monotonic())))
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def failed(self, error: ClientError, pause: float | None = None) -> None:
        """Wait before the next attempt; raises `error` where there is no time for one."""
        pause = self._pause if pause is None else pause
        if time.monotonic() + pause > self._deadline:
            raise error
        time.sleep(pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def is_retriable(error: ClientError, also: Collection[int] = ()) -> bool:
    """Whether a retry may succeed: the broker is unreachable, or its error is retriable."""
    if isinstance(error, BrokerError):
        return error.is_retriable or error.code in also
    return isinstance(error, Unreachable | TimedOut)


def tried(
    cluster: Cluster, attempt: Callable[[], T], *, timeout: float, backoff: float, also: Collection[int] = ()
) -> T:
    """`attempt` until it succeeds, or fails with an error that is not retriable, or the time is over.

    The cluster's cached metadata is dropped between two attempts. `also` are further retriable codes.
    """
    attempts = Attempts(timeout, backoff)
    while True:
        try:
            return attempt()
        except ClientError as error:
            if not is_retriable(error, also):
                raise
            is_busy = isinstance(error, BrokerError) and error.code == CONCURRENT_TRANSACTIONS
            attempts.failed(error, _SHORT_PAUSE if is_busy else None)
            if not is_busy:
                cluster.forget()
