"""The producer test: sends records, counts the acknowledged ones, and reports.

The producer is confluent-kafka's. A full queue is waited for and is not an error. Records that were not
delivered are reported and not counted.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.cli.messages.pace import Pace
from barnabas.cli.perf.latencies import Latencies, Total
from barnabas.client.errors import ClientError

if TYPE_CHECKING:
    from confluent_kafka import Producer

_POLL_EVERY = 64
_TRANSACTION_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class ProducerTest:
    topic: str
    records: int
    payloads: Iterator[bytes]
    rate: float = -1.0
    warmup: int = 0
    interval: float = 5.0
    transaction_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    total: Total
    steady: Total | None
    failed: int


def produce(
    test: ProducerTest,
    producer: "Producer",
    on_window: Callable[[Total, bool], None],
    on_sent: Callable[[int], None] = lambda count: None,
) -> Result:
    """Calls `on_window(window, is_first)` for each interval and `on_sent` with the number of records sent."""
    from confluent_kafka import KafkaException

    try:
        if test.transaction_seconds is not None:
            producer.init_transactions(_TRANSACTION_PATIENCE)
        run = _Run(test, producer, on_window)
        run.send_all(on_sent)
        producer.flush()
    except KafkaException as error:
        raise ClientError(error.args[0].str()) from error
    return Result(run.all.total(), run.steady.total() if run.steady else None, run.failed)


class _Run:
    def __init__(self, test: ProducerTest, producer: Any, on_window: Callable[[Total, bool], None]) -> None:
        self._test: ProducerTest = test
        self._producer: Any = producer
        self._on_window: Callable[[Total, bool], None] = on_window
        self.all: Latencies = Latencies(test.records, test.interval, on_window)
        self.steady: Latencies | None = None
        self.failed: int = 0

    def send_all(self, on_sent: Callable[[int], None]) -> None:
        test, pace = self._test, Pace(self._test.rate, sleep=self._serve)
        poll_every = _POLL_EVERY if test.rate < 0 else 1
        transaction = _Transactions(self._producer, test.transaction_seconds)
        for number, payload in zip(range(test.records), test.payloads, strict=False):
            if number == test.warmup and test.warmup:
                self.steady = Latencies(test.records - test.warmup, test.interval, self._on_window)
                self.all.is_silent = True
            transaction.maybe_begin()
            self._send(payload)
            if number % poll_every == 0:
                self._producer.poll(0)
                on_sent(poll_every)
            transaction.maybe_commit()
            pace.wait(number + 1)
        transaction.commit()

    def _serve(self, seconds: float) -> None:
        """Sleeps while callbacks of acknowledgements run on time: their latency is measured."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._producer.poll(left)

    def _send(self, payload: bytes) -> None:
        start, size = time.monotonic(), len(payload)

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                self._failed(error)
                return
            self.all.record(start, size)
            if self.steady is not None:
                self.steady.record(start, size)

        while True:
            try:
                self._producer.produce(self._test.topic, payload, on_delivery=delivered)
                return
            except BufferError:
                self._producer.poll(0.01)

    def _failed(self, error: Any) -> None:
        self.failed += 1
        if self.failed <= 10:
            print(error.str(), file=sys.stderr)
        elif self.failed == 11:
            print("More records were not delivered; further failures are not printed.", file=sys.stderr)


class _Transactions:
    """Transactions of `duration` seconds each. Does nothing without a duration."""

    def __init__(self, producer: Any, seconds: float | None) -> None:
        self._producer: Any = producer
        self._seconds: float | None = seconds
        self._since: float | None = None

    def maybe_begin(self) -> None:
        if self._seconds is not None and self._since is None:
            self._producer.begin_transaction()
            self._since = time.monotonic()

    def maybe_commit(self) -> None:
        if self._seconds is None or self._since is None:
            return
        if time.monotonic() - self._since >= self._seconds:
            self.commit()

    def commit(self) -> None:
        if self._since is not None:
            self._producer.commit_transaction()
            self._since = None
