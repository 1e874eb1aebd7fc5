"""Raw fetches of about 1 MB from the page cache, over and over the same 50 MB."""

from __future__ import annotations

from benchmarks import protocol, raw_client
from benchmarks.batches import batch_of_size
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import ProduceAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.base import Scenario, Settings, topic

FETCH_BYTES = 1_000_000
PRELOADED_BYTES = 50_000_000
IN_FLIGHT = 2
"""The next request waits in the socket while an answer is read, as with a consumer that fetches ahead."""


class FetchFromPageCache:
    """MB/s on one connection. Each request asks for whole batches only, so every byte received counts."""

    group = "Consume from the page cache, raw sockets"

    def __init__(
        self, batch_bytes: int, title: str, partitions: int = 1, target: Target | None = None
    ) -> None:
        self._partitions = partitions
        self._batch, self._records = batch_of_size(batch_bytes, 100)
        self._batches_a_fetch = max(1, FETCH_BYTES // partitions // len(self._batch))
        self.name = f"fetch/{batch_bytes // 1000}kB/{partitions}p"
        self.metrics = (Metric("mb_s", title, "MB/s", True, target),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        per_partition = self._batches_a_fetch * len(self._batch)
        fetches = PRELOADED_BYTES // (per_partition * self._partitions)
        with topic(broker, self._partitions, settled=False) as (connection, name):
            self._preload(connection, name, fetches * self._batches_a_fetch)
            step = self._batches_a_fetch * self._records
            offsets = [[(p, index * step) for p in range(self._partitions)] for index in range(fetches)]
            requests = [protocol.fetch(name, wanted, per_partition) for wanted in offsets]
            replay = raw_client.replay_fetch(
                connection,
                requests,
                per_partition * self._partitions,
                in_flight=IN_FLIGHT,
                warm_up=settings.warm_up,
                seconds=settings.seconds,
            )
        return {"mb_s": replay.mb_per_second}

    def _preload(self, connection: Connection, name: str, batches: int) -> None:
        # One by one at first: a repeated request for all would append twice to those that were ready.
        for partition in range(self._partitions):
            single = protocol.produce(name, [(partition, self._batch)], acks=1)
            raw_client.produce_once(connection, single, ProduceAnswer(name, 1))
        request = protocol.produce(name, [(p, self._batch) for p in range(self._partitions)], acks=1)
        raw_client.produce_times(connection, request, ProduceAnswer(name, self._partitions), batches - 1)


def scenarios() -> list[Scenario]:
    return [
        FetchFromPageCache(1_000_000, "1 MB fetches, 1 MB batches", target=Target("ratio", "least", 1.0)),
        FetchFromPageCache(16_000, "1 MB fetches, 16 kB batches", target=Target("ratio", "least", 1.0)),
        FetchFromPageCache(10_000, "10 kB from each of 100 partitions a fetch", partitions=100),
    ]
