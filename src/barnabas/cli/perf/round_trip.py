"""End to end: a record is sent, acknowledged and read again, one at a time."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.client.errors import ClientError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, Producer

_PATIENCE = 60.0
_PERCENTILES = (0.5, 0.99, 0.999)
Header = tuple[str, str | bytes | None]


@dataclass(frozen=True, slots=True)
class RoundTripTest:
    topic: str
    records: int
    value_size: int
    key_size: int = 0
    headers: int = 0
    header_key_size: int = 0
    header_value_size: int = 0
    """-1 for headers without a value."""


@dataclass(frozen=True, slots=True)
class RoundTrips:
    mean_ms: float
    percentiles_ms: tuple[int, ...]


def round_trips(
    test: RoundTripTest,
    producer: "Producer",
    consumer: "Consumer",
    on_record: Callable[[int, float], None],
) -> RoundTrips:
    """`consumer` is at the end of the topic. Calls `on_record(number, milliseconds)` for each record."""
    chance = random.Random(0)  # every run sends the same
    latencies = []
    for number in range(test.records):
        key, value = _letters(chance, test.key_size), _letters(chance, test.value_size)
        headers = [_header(chance, test) for _ in range(test.headers)]
        begin = time.perf_counter()
        producer.produce(test.topic, value, key, headers=headers)
        if producer.flush(_PATIENCE):
            raise ClientError(f"A record was not acknowledged within {_PATIENCE:g} s")
        message = consumer.poll(_PATIENCE)
        elapsed = (time.perf_counter() - begin) * 1000
        _check(message, key, value, headers)
        latencies.append(elapsed)
        on_record(number, elapsed)
    whole = sorted(int(each) for each in latencies)
    return RoundTrips(
        sum(latencies) / len(latencies), tuple(whole[int(len(whole) * part)] for part in _PERCENTILES)
    )


def _check(message: "Message | None", key: bytes, value: bytes, headers: list[Header]) -> None:
    if message is None:
        raise ClientError(f"poll() timed out before finding a result (timeout:[{_PATIENCE * 1000:.0f}ms])")
    error = message.error()
    if error is not None:
        raise ClientError(error.str())
    for what, sent, read in (("value", value, message.value()), ("key", key, message.key())):
        if sent != read:
            got, wanted = _text(read), _text(sent)
            raise ClientError(
                f"The message {what} read [{got}] did not match the message {what} sent [{wanted}]"
            )
    if headers != (message.headers() or []):
        raise ClientError("The message headers read did not match the message headers sent")


def _letters(chance: random.Random, size: int) -> bytes:
    return bytes([chance.randrange(ord("A"), ord("Z") + 1)]) * size


def _header(chance: random.Random, test: RoundTripTest) -> Header:
    name = _letters(chance, test.header_key_size).decode()
    return name, None if test.header_value_size == -1 else _letters(chance, test.header_value_size)


def _text(field: "bytes | str | None") -> str:
    return field.decode(errors="replace") if isinstance(field, bytes) else str(field)
