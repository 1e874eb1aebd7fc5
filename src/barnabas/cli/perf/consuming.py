"""The consumer test: reads records in a group and reports rates and rebalance times."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.client.errors import ClientError

if TYPE_CHECKING:
    from confluent_kafka import Consumer

FETCH_AHEAD = {"queued_min_messages": 1_000_000, "fetch_queue_backoff_ms": 10}
"""librdkafka stops fetching for a second when its queue is full, which would distort the measurement."""

_BATCH = 1000
_POLL = 0.1
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ConsumerTest:
    topics: Sequence[str]
    """A name, or a regular expression that begins with ^."""
    records: int
    timeout: float = 10.0
    """The longest pause between records."""
    interval: float = 5.0


@dataclass(frozen=True, slots=True)
class Reading:
    """From `start` to `end` (seconds since 1970): what was read, and how long the group was rebalancing."""

    start: float
    end: float
    size: int
    count: int
    joining: float

    @property
    def megabytes(self) -> float:
        return self.size / _MEGABYTE

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def fetching(self) -> float:
        return self.seconds - self.joining


def per_second(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def consume(
    test: ConsumerTest,
    consumer: "Consumer",
    on_window: Callable[[Reading, Reading], None] = lambda window, so_far: None,
) -> Reading:
    """Calls `on_window(window, so_far)` for each interval. Ends early if no record arrives for `timeout`."""
    from confluent_kafka import KafkaException

    try:
        try:
            return _Run(test, consumer, on_window).read()
        finally:
            consumer.close()
    except KafkaException as error:
        raise ClientError(error.args[0].str()) from error


class _Run:
    def __init__(
        self, test: ConsumerTest, consumer: Any, on_window: Callable[[Reading, Reading], None]
    ) -> None:
        self._test: ConsumerTest = test
        self._consumer: Any = consumer
        self._on_window: Callable[[Reading, Reading], None] = on_window
        self._start: float = time.time()
        self._join_start: float | None = self._start
        self._joining: float = 0.0
        self._count: int = 0
        self._size: int = 0

    def read(self) -> Reading:
        self._consumer.subscribe(list(self._test.topics), on_assign=self._assigned, on_revoke=self._revoked)
        last = window_start = time.time()
        before = self._so_far(window_start)
        while self._count < self._test.records:
            wanted = min(_BATCH, self._test.records - self._count)
            is_any = self._take(self._consumer.consume(wanted, _POLL))
            now = time.time()
            if is_any:
                last = now
            elif now - last > self._test.timeout:
                break
            if now - window_start >= self._test.interval:
                so_far = self._so_far(now)
                self._on_window(_between(before, so_far, window_start), so_far)
                before, window_start = so_far, now
        return self._so_far(time.time())

    def _take(self, messages: list[Any]) -> bool:
        from confluent_kafka import KafkaException

        size = count = 0
        for message in messages:
            error = message.error()
            if error is not None:
                if error.fatal():
                    raise KafkaException(error)
                continue  # retriable, or the timeout ends the test
            size += len(message)
            key = message.key()
            if key:
                size += len(key)
            count += 1
        self._count += count
        self._size += size
        return count > 0

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        if self._join_start is not None:
            self._joining += time.time() - self._join_start
            self._join_start = None

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        self._join_start = time.time()

    def _so_far(self, now: float) -> Reading:
        return Reading(self._start, now, self._size, self._count, self._joining)


def _between(before: Reading, after: Reading, start: float) -> Reading:
    return Reading(
        start, after.end, after.size - before.size, after.count - before.count, after.joining - before.joining
    )
