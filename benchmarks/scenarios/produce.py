"""Raw produce: 1 MB of records a request, in one batch or spread over 100 partitions."""

from __future__ import annotations

from benchmarks import protocol, raw_client
from benchmarks.batches import batch_of_size
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer
from benchmarks.scenarios.base import Scenario, Settings, topic

REQUEST_BYTES = 1_000_000
IN_FLIGHT = 5
ACKS_NAMES = {1: "1", -1: "all"}


class ProduceBatches:
    """MB/s of record batches on one connection with five requests in flight."""

    group = "Produce, raw sockets"

    def __init__(self, value_size: int, acks: int, partitions: int = 1) -> None:
        self._acks = acks
        self._partitions = partitions
        self._batch, _ = batch_of_size(REQUEST_BYTES // partitions, value_size)
        size = "1 KiB" if value_size == 1024 else f"{value_size} B"
        where = "1 MB batches of" if partitions == 1 else f"{partitions} partitions a request,"
        self.name = f"produce/{value_size}B/acks={ACKS_NAMES[acks]}/{partitions}p"
        target = Target("ratio", "least", 1.3) if partitions == 1 else None
        title = f"{where} {size} records, acks={ACKS_NAMES[acks]}"
        self.metrics = (Metric("mb_s", title, "MB/s", True, target),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        with topic(broker, self._partitions) as (connection, name):
            batches = [(partition, self._batch) for partition in range(self._partitions)]
            request = protocol.produce(name, batches, self._acks)
            answer = ProduceAnswer(name, self._partitions)
            raw_client.produce_once(connection, request, answer)
            replay = raw_client.replay_produce(
                [connection],
                [request],
                answer,
                in_flight=IN_FLIGHT,
                warm_up=settings.warm_up,
                seconds=settings.seconds,
                at_most=settings.produced_bytes // REQUEST_BYTES,
            )
        return {"mb_s": replay.rate * len(self._batch) * self._partitions / 1e6}


def scenarios() -> list[Scenario]:
    single: list[Scenario] = [ProduceBatches(size, acks) for size in (100, 1024) for acks in (1, -1)]
    return [*single, ProduceBatches(100, 1, partitions=100), ProduceBatches(100, -1, partitions=100)]
