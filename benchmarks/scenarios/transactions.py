"""Transactions: how many a second, how long a commit takes, and how late a read_committed consumer is.

Raw producers speak transaction version 2 and have a transactional id and a partition of their own each. A
commit is timed from EndTxn to its answer; what the markers cost beyond it is in the rate, as the next
transaction waits for them. Records have 100 bytes.
"""

from __future__ import annotations

import itertools
import select
import struct
import time
from contextlib import ExitStack

from benchmarks import confluent_client, protocol
from benchmarks.medians import percentile
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.base import Scenario, Settings, topic
from benchmarks.transactional_producer import TransactionalProducer, run_transactions

GROUP = "Transactions"
MORE = Target("ratio", "least", 1.0)
NO_SLOWER = Target("ratio", "most", 1.0)
TRANSACTIONS_A_SECOND = 50
WARM_UP_TRANSACTIONS = 20

_CONTROL = 0x20
_BATCH = struct.Struct(">qi9xhi")
"""Base offset, length, attributes, last offset delta."""

_numbers = itertools.count()


def new_transactional_id() -> str:
    return f"bench-transactions-{next(_numbers):05d}"


def _records_each(records: int) -> str:
    return "1 record each" if records == 1 else f"{records} records each"


class RawTransactions:
    """Transactions/s of producers that do nothing else, and the median and p99 of a commit."""

    group = GROUP

    def __init__(self, records: int, producers: int) -> None:
        self._records = records
        self._producers = producers
        self.name = f"transactions/{records}r/{producers}c"
        many = "1 producer" if producers == 1 else f"{producers} producers"
        title = f"{many}, {_records_each(records)}"
        self.metrics = (
            Metric("transactions_s", title, "tx/s", True, MORE),
            Metric("p50_ms", f"{title}, commit p50", "ms", False, NO_SLOWER),
            Metric("p99_ms", f"{title}, commit p99", "ms", False, NO_SLOWER),
        )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        with ExitStack() as stack:
            first, name = stack.enter_context(topic(broker, self._producers))
            others = [stack.enter_context(broker.connect()) for _ in range(self._producers - 1)]
            producers = [
                TransactionalProducer(connection, new_transactional_id(), name, partition, self._records)
                for partition, connection in enumerate([first, *others])
            ]
            for producer in producers:
                producer.prepare()
            done = run_transactions(producers, settings.warm_up, settings.transaction_seconds)
        return {
            "transactions_s": done.rate,
            "p50_ms": percentile(done.commits, 50) * 1e3,
            "p99_ms": percentile(done.commits, 99) * 1e3,
        }


class ConfluentTransactions:
    """Transactions/s as a user of confluent-kafka has them: begin, produce, commit."""

    group = GROUP

    def __init__(self, records: int) -> None:
        self._records = records
        self.name = f"transactions/confluent/{records}r"
        self.metrics = (
            Metric("transactions_s", f"confluent-kafka, {_records_each(records)}", "tx/s", True, MORE),
        )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        with topic(broker, 1) as (_, name):
            rate = confluent_client.transaction_rate(
                broker.bootstrap_servers,
                name,
                new_transactional_id(),
                self._records,
                settings.transaction_seconds,
            )
        return {"transactions_s": rate}


class CommittedTraffic:
    """One transaction of one record every 20 ms, and a read_committed consumer with a waiting fetch.

    Transaction n was due at `due[n]`: one that has to wait for the end of the last is late, and counts so.
    """

    def __init__(self, producer: TransactionalProducer, consumer: Connection, name: str) -> None:
        self._producer = producer
        self._consumer = consumer
        self._name = name
        self._next_offset = 0
        # The record of `prepare` is in the log already.
        self._due: list[float] = [time.perf_counter()]
        self.latencies: list[float] = []

    def run(self, transactions: int) -> None:
        """Until the records of all are here; the last transaction has ended then."""
        self._ask()
        interval, expected = 1 / TRANSACTIONS_A_SECOND, 1 + transactions
        due = time.perf_counter()
        deadline = due + transactions * interval + 30.0
        sockets = [self._producer.connection.socket, self._consumer.socket]
        is_idle = True
        while len(self.latencies) < expected or not is_idle:
            now = time.perf_counter()
            if now > deadline:
                raise UnexpectedAnswer(f"transactions: {expected - len(self.latencies)} did not arrive")
            is_next = is_idle and len(self._due) < expected
            if is_next and now >= due:
                self._due.append(due)
                due += interval
                is_idle = False
                self._producer.send()
                continue
            readable, _, _ = select.select(sockets, [], [], due - now if is_next else 1.0)
            if self._consumer.socket in readable:
                self._consume()
            if self._producer.connection.socket in readable:
                is_idle = self._producer.receive() is not None

    def _ask(self) -> None:
        self._consumer.send(
            protocol.fetch(self._name, [(0, self._next_offset)], 1_000_000, is_committed_only=True)
        )

    def _consume(self) -> None:
        response = self._consumer.receive()
        now = time.perf_counter()
        (fetched,) = protocol.parse_fetch(response)
        if fetched.error:
            raise UnexpectedAnswer(f"transactions: fetch answered with error code {fetched.error}")
        position, end = fetched.start, fetched.start + fetched.size
        while position < end:
            base_offset, length, attributes, last_delta = _BATCH.unpack_from(response, position)
            position += 12 + length
            self._next_offset = base_offset + last_delta + 1
            if not attributes & _CONTROL:
                self.latencies.append(now - self._due[len(self.latencies)])
        self._ask()


class CommittedEndToEnd:
    """From when a transaction was due to having its record from a waiting read_committed fetch."""

    group = GROUP
    name = "transactions/latency"
    metrics = (
        Metric("p50_ms", "end to end at 50 tx/s, read_committed, p50", "ms", False, NO_SLOWER),
        Metric("p99_ms", "end to end at 50 tx/s, read_committed, p99", "ms", False, NO_SLOWER),
    )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        with topic(broker, 1, settled=False) as (connection, name), broker.connect() as consumer:
            producer = TransactionalProducer(connection, new_transactional_id(), name, 0, records=1)
            producer.prepare()
            traffic = CommittedTraffic(producer, consumer, name)
            traffic.run(WARM_UP_TRANSACTIONS + settings.latency_transactions)
        measured = traffic.latencies[1 + WARM_UP_TRANSACTIONS :]
        return {"p50_ms": percentile(measured, 50) * 1e3, "p99_ms": percentile(measured, 99) * 1e3}


def scenarios() -> list[Scenario]:
    raw = [RawTransactions(records, producers) for records in (1, 100) for producers in (1, 4)]
    return [*raw, ConfluentTransactions(1), ConfluentTransactions(100), CommittedEndToEnd()]
