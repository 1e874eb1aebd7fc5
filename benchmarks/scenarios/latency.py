"""Raw end-to-end latency at 200 records/s: from sending a record to having it from a waiting fetch.

Producer and consumer are one thread of the client.
"""

from __future__ import annotations

import select
import struct
import time

from benchmarks import protocol, raw_client
from benchmarks.batches import batch
from benchmarks.medians import percentile
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.base import Scenario, Settings, topic

RECORDS_A_SECOND = 200
WARM_UP_RECORDS = 40
_BASE_OFFSET_AND_LENGTH = struct.Struct(">qi")


class Traffic:
    """A producing and a long-polling connection; record n of the log was sent at `sent[n]`."""

    def __init__(self, producer: Connection, consumer: Connection, name: str, first_offset: int) -> None:
        self._producer = producer
        self._consumer = consumer
        self._name = name
        self._next_offset = first_offset
        self._first_offset = first_offset
        self._request = protocol.produce(name, [(0, batch([bytes(100)]))], acks=-1)
        self._answer = ProduceAnswer(name, 1)
        self._sent: list[float] = []
        self.latencies: list[float] = []

    def run(self, records: int) -> None:
        sockets = [self._producer.socket, self._consumer.socket]
        self._ask()
        interval = 1.0 / RECORDS_A_SECOND
        next_send = time.perf_counter()
        deadline = next_send + records * interval + 30.0
        while len(self.latencies) < records:
            now = time.perf_counter()
            if now > deadline:
                raise UnexpectedAnswer(f"latency: {records - len(self.latencies)} records did not arrive")
            if len(self._sent) < records and now >= next_send:
                next_send += interval
                self._sent.append(time.perf_counter())
                self._producer.send(self._request)
                continue
            wait = next_send - now if len(self._sent) < records else 1.0
            readable, _, _ = select.select(sockets, [], [], max(wait, 0.0))
            if self._consumer.socket in readable:
                self._consume()
            if self._producer.socket in readable:
                self._check_produced()

    def _check_produced(self) -> None:
        if error := self._answer.first_error(self._producer.receive()):
            raise UnexpectedAnswer(f"latency: produce answered with error code {error}")

    def _ask(self) -> None:
        self._consumer.send(protocol.fetch(self._name, [(0, self._next_offset)], 1_000_000))

    def _consume(self) -> None:
        response = self._consumer.receive()
        now = time.perf_counter()
        (fetched,) = protocol.parse_fetch(response)
        if fetched.error:
            raise UnexpectedAnswer(f"latency: fetch answered with error code {fetched.error}")
        position, end = fetched.start, fetched.start + fetched.size
        while position < end:
            base_offset, length = _BASE_OFFSET_AND_LENGTH.unpack_from(response, position)
            position += 12 + length
            self.latencies.append(now - self._sent[base_offset - self._first_offset])
            self._next_offset = base_offset + 1
        self._ask()


class EndToEnd:
    """p50 and p99 in milliseconds, acks=all, one record a request."""

    name = "latency/raw"
    group = "End-to-end latency at 200 records/s, raw sockets"
    metrics = (
        Metric("p50_ms", "p50", "ms", False, Target("ratio", "most", 0.7)),
        Metric("p99_ms", "p99", "ms", False, Target("ratio", "most", 0.7)),
    )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        with topic(broker, 1, settled=False) as (producer, name), broker.connect() as consumer:
            request = protocol.produce(name, [(0, batch([bytes(100)]))], acks=-1)
            raw_client.produce_once(producer, request, ProduceAnswer(name, 1))
            traffic = Traffic(producer, consumer, name, first_offset=1)
            traffic.run(WARM_UP_RECORDS + settings.latency_records)
        measured = traffic.latencies[WARM_UP_RECORDS:]
        return {"p50_ms": percentile(measured, 50) * 1e3, "p99_ms": percentile(measured, 99) * 1e3}


def scenarios() -> list[Scenario]:
    return [EndToEnd()]
