"""Receives records in batches, up to a number of records or a timeout.

`records` yields lists of records until the limit is reached, no record arrives in time, or the stop is set.
Errors that librdkafka reports meanwhile (a missing topic, a lost broker) are printed on stderr, each text
once. A non-retriable error ends the loop with ConsumingFailed.
"""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from barnabas.cli.messages.interruption import Stop
from barnabas.cli.messages.librdkafka_clients import log_line

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

_BATCH = 10_000
_TURN = 0.1
"""The length of one wait. Signals are checked in between."""
_NOT_RETRIABLE = frozenset({17, 24, 29, 30, 35})
"""Non-retriable codes: invalid topic or group, not authorized, unsupported version."""
_END_OF_PARTITION = -191
_RESET_FAILED = -140
"""No offset to start from, and `auto.offset.reset=none`."""


class ConsumingFailed(Exception):
    """The broker responded with a non-retriable error. The message is its reason."""


class Silence(Exception):
    """No record arrived within the timeout."""


class Intake:
    """Takes records from a consumer that is subscribed or assigned."""

    def __init__(
        self,
        consumer: "Consumer",
        stop: Stop,
        *,
        limit: int | None = None,
        silence_ms: int | None = None,
        batch: int = _BATCH,
        on_end: Callable[[str, int], None] | None = None,
        gives_nothing: bool = False,
    ) -> None:
        """At most `limit` records, `batch` at a time; `silence_ms` is how long to wait for the next one.

        `on_end` is called for every partition whose end was reached, if `enable.partition.eof` is set.
        With `gives_nothing` an empty batch is yielded if no record arrived for a moment.
        """
        self._consumer: Consumer = consumer
        self._stop: Stop = stop
        self._limit: int | None = limit
        self._batch: int = batch
        self._gives_nothing: bool = gives_nothing
        self._on_end: Callable[[str, int], None] | None = on_end
        self._silence: float | None = None if silence_ms is None else silence_ms / 1000
        self._reported: set[str] = set()
        self.count: int = 0

    def batches(self) -> Iterator[list["Message"]]:
        """Raises Silence and ConsumingFailed."""
        while not self._stop and (self._limit is None or self.count < self._limit):
            found = self._next()
            self.count += len(found)
            if found or self._gives_nothing:
                yield found

    def _next(self) -> list["Message"]:
        size = self._batch if self._limit is None else min(self._batch, self._limit - self.count)
        begin = time.monotonic()
        while not self._stop:
            waited = time.monotonic() - begin
            turn = _TURN if self._silence is None else max(0.0, min(_TURN, self._silence - waited))
            first = self._consumer.poll(turn)
            if first is not None:
                # Take what else is available, without waiting.
                rest = self._consumer.consume(size - 1, 0) if size > 1 else []
                found = self._checked([first, *rest])
                if found or self._gives_nothing:
                    return found
            elif self._gives_nothing:
                return []
            elif self._silence is not None and time.monotonic() - begin >= self._silence:
                raise Silence
        return []

    def _checked(self, messages: list["Message"]) -> list["Message"]:
        good = []
        for message in messages:
            error = message.error()
            if error is None:
                good.append(message)
            elif error.code() == _END_OF_PARTITION:
                if self._on_end is not None:
                    self._on_end(message.topic() or "", message.partition() or 0)
            else:
                self._heard(error)
        return good

    def _heard(self, error: "KafkaError") -> None:
        if error.fatal() or error.code() in _NOT_RETRIABLE or error.code() == _RESET_FAILED:
            raise ConsumingFailed(_words(error))
        if error.str() not in self._reported:
            self._reported.add(error.str())
            log_line("WARN", error.str())


def _words(error: "KafkaError") -> str:
    from barnabas.cli.messages.producing import reason_of

    return reason_of(error)
