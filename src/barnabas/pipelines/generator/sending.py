"""Sending a run to topics: as fast as the clock of the events allows, or as fast as it goes."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.generator.plan import Kind
from barnabas.pipelines.generator.run import Run

if TYPE_CHECKING:
    from confluent_kafka import Producer

_LOOK = 500
"""Events between two looks at the clock."""
_SHORTEST = 0.01


@dataclass(frozen=True, slots=True)
class Sending:
    bootstrap_server: str
    topics: Mapping[Kind, str]
    speed: float
    """Seconds of event time per second; 0 for as fast as it goes."""


def send(
    run: Run,
    sending: Sending,
    stopped: Callable[[], bool] = lambda: False,
    report: Callable[[int, float], None] = lambda sent, seconds: None,
) -> int:
    """Sends the events of a run with their send times; returns how many were. Raises ConnectionError."""
    producer = _producer(sending.bootstrap_server)
    begin, sent = time.monotonic(), 0
    for event in run:
        _produce(producer, sending.topics[event.kind], event.key, event.value, event.send_ms)
        sent += 1
        if sent % _LOOK == 0:
            producer.poll(0)
            report(sent, time.monotonic() - begin)
            if stopped():
                break
            _keep_pace(producer, run, sending, event.send_ms, begin)
    if left := producer.flush(60):
        raise ConnectionError(f"{left} events were not acknowledged by {sending.bootstrap_server}")
    return sent


def _keep_pace(producer: "Producer", run: Run, sending: Sending, send_ms: int, begin: float) -> None:
    if sending.speed <= 0:
        return
    due = (send_ms - run.plan.start_ms) / 1000 / sending.speed
    ahead = due - (time.monotonic() - begin)
    if ahead > _SHORTEST:
        producer.flush(0)
        time.sleep(min(ahead, 1.0))


def _producer(bootstrap_server: str) -> "Producer":
    from confluent_kafka import Producer

    return Producer(
        {
            "bootstrap.servers": bootstrap_server,
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 200_000,
        }
    )


def _produce(producer: "Producer", topic: str, key: bytes, value: bytes, time_ms: int) -> None:
    while True:
        try:
            producer.produce(topic, value, key, timestamp=time_ms)
        except BufferError:
            producer.poll(0.05)  # the queue is full: the broker is slower than we are
        else:
            return
