"""confluent-kafka as a user runs it: produce, consume, latency. The client's own speed is part of it."""

from __future__ import annotations

from benchmarks import confluent_client, protocol, raw_client
from benchmarks.batches import batch_of_size
from benchmarks.medians import percentile
from benchmarks.metrics import Metric
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer
from benchmarks.scenarios.base import Scenario, Settings, topic

GROUP = "confluent-kafka, as a user runs it"
ACKS_NAMES = {1: "1", -1: "all"}


def _size_name(value_size: int) -> str:
    return "1 KiB" if value_size == 1024 else f"{value_size} B"


def _client_bytes(settings: Settings, value_size: int) -> int:
    """More bytes for large records: the client handles them faster, and a measurement needs its time."""
    return settings.client_bytes * (3 if value_size == 1024 else 1)


class ConfluentProduce:
    """MB/s of record values with the client's default batching."""

    group = GROUP

    def __init__(self, value_size: int, acks: int, partitions: int = 1) -> None:
        self._value_size = value_size
        self._acks = acks
        self._partitions = partitions
        self._keys = [None] if partitions == 1 else [b"key-%d" % number for number in range(10_000)]
        acks_name = ACKS_NAMES[acks]
        self.name = f"confluent/produce/{value_size}B/acks={acks_name}/{partitions}p"
        where = "" if partitions == 1 else f", {partitions} partitions by key"
        title = f"produce {_size_name(value_size)} records, acks={acks_name}{where}"
        self.metrics = (Metric("mb_s", title, "MB/s", True),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        count = _client_bytes(settings, self._value_size) // self._value_size
        if self._partitions > 1:  # many small batches: slow
            count //= 4
        value = bytes(self._value_size)
        with topic(broker, self._partitions) as (_, name):
            seconds = confluent_client.produce_seconds(
                broker.bootstrap_servers, name, value, count, self._keys, {"acks": self._acks}
            )
        return {"mb_s": count * self._value_size / seconds / 1e6}


class ConfluentSmall:
    """Records/s when the client is set to send each record by itself."""

    group = GROUP
    name = "confluent/small"
    metrics = (Metric("records_s", "one record a request", "req/s", True),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        count = settings.small_client_records
        options = {"linger.ms": 0, "batch.num.messages": 1}
        with topic(broker, 1) as (_, name):
            seconds = confluent_client.produce_seconds(
                broker.bootstrap_servers, name, bytes(100), count, settings=options
            )
        return {"records_s": count / seconds}


class ConfluentConsume:
    """MB/s of record values, one partition, from the page cache."""

    group = GROUP

    def __init__(self, value_size: int) -> None:
        self._value_size = value_size
        self._batch, self._records = batch_of_size(100_000, value_size)
        self.name = f"confluent/consume/{value_size}B"
        self.metrics = (Metric("mb_s", f"consume {_size_name(value_size)} records", "MB/s", True),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        batches = _client_bytes(settings, self._value_size) // len(self._batch)
        with topic(broker, 1, settled=False) as (connection, name):
            request, answer = protocol.produce(name, [(0, self._batch)], acks=1), ProduceAnswer(name, 1)
            raw_client.produce_once(connection, request, answer)
            raw_client.produce_times(connection, request, answer, batches - 1)
            rate = confluent_client.consume_rate(broker.bootstrap_servers, name, batches * self._records)
        return {"mb_s": rate * self._value_size / 1e6}


class ConfluentLatency:
    """From `produce` to `poll` at 200 records/s, linger.ms=0."""

    group = GROUP
    name = "confluent/latency"
    metrics = (
        Metric("p50_ms", "end to end at 200 records/s, p50", "ms", False),
        Metric("p99_ms", "end to end at 200 records/s, p99", "ms", False),
    )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        with topic(broker, 1, settled=False) as (_, name):
            seen = confluent_client.latencies(
                broker.bootstrap_servers, name, settings.latency_records, 200.0, skip=40
            )
        return {"p50_ms": percentile(seen, 50) * 1e3, "p99_ms": percentile(seen, 99) * 1e3}


def scenarios() -> list[Scenario]:
    produce: list[Scenario] = [ConfluentProduce(size, acks) for size in (100, 1024) for acks in (1, -1)]
    produce.append(ConfluentProduce(100, -1, partitions=100))
    return [*produce, ConfluentSmall(), ConfluentConsume(100), ConfluentConsume(1024), ConfluentLatency()]
