"""What the steps of one life share: a broker, the model of the source, the streams, and where they write."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from tests.faults.random_life.violation import require
from tests.faults.stream_life.driver import SOURCE, Driver
from tests.faults.stream_life.source_model import Record, SourceModel
from tests.faults.stream_life.stream import Stream
from tests.faults.stream_life.target_rows import committed_rows
from tests.patience import PATIENCE

from barnabas.client.admin.offsets import start_offsets
from barnabas.client.admin.transactions import list_transactions
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.testing import Broker

_SHOWN = 5


@dataclass(slots=True)
class Scene:
    broker: Broker
    directory: Path
    source: SourceModel = field(default_factory=SourceModel)
    streams: dict[int, Stream] = field(default_factory=dict)
    """By their slot."""
    retired: list[Stream] = field(default_factory=list)
    """Streams whose query was given up. Their rows stay."""
    targets: set[str] = field(default_factory=set)
    generation: int = 0
    driver: Callable[..., Any] = Driver
    """What runs a query."""
    withheld: int = 0
    """Answers without records that the broker gives next."""
    counts: Counter[str] = field(default_factory=Counter)
    """What was done, by kind: a life that does nothing finds nothing."""

    @property
    def servers(self) -> str:
        return self.broker.bootstrap_servers

    def cluster(self) -> Cluster:
        return Cluster(ClientSettings.of(self.servers))

    def produce(self, topic: str, partition: int, records: list[Record]) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0})
        for each in records:
            value = f"{'poison-' if each.is_poison else ''}{each.number}"
            producer.produce(topic, value.encode(), partition=partition)
        assert producer.flush(PATIENCE) == 0

    def ensure_target(self, name: str) -> None:
        if name not in self.targets:
            self.broker.create_topic(name, 2)
            self.targets.add(name)

    def kill_broker(self) -> None:
        """Expired records may come back: the log start is written to disk now and then."""
        self.broker.kill()
        self.broker.start()
        topic_partitions = [(SOURCE, number) for number in range(len(self.source.partitions))]
        with self.cluster() as cluster:
            found = start_offsets(cluster, topic_partitions)
        for topic_partition, before in zip(topic_partitions, self.source.starts, strict=True):
            require(
                found[topic_partition] <= before,
                f"{topic_partition} begins at {found[topic_partition]}, and had {before} before",
            )
        self.source.starts = [found[topic_partition] for topic_partition in topic_partitions]

    def retire(self, stream_id: int) -> None:
        self.retired.append(self.streams.pop(stream_id))

    def open_transactions(self) -> list[str]:
        with self.cluster() as cluster:
            return [each.id for each in list_transactions(cluster) if each.state == "Ongoing"]

    # --- comparing -------------------------------------------------------------------------------------

    def compare(self) -> None:
        """Every target holds what the model says, and nothing else. No transaction may be open."""
        streams = [*self.streams.values(), *self.retired]
        for target in sorted(self.targets):
            rows = committed_rows(self.servers, target)
            known: set[str] = set()
            for stream in streams:
                expected = stream.expectations.get(target)
                if expected is None:
                    continue
                names = {number: f"{stream.label}/{number}" for number in expected.must | expected.may}
                known.update(names.values())
                missing = [names[number] for number in sorted(expected.must) if not rows[names[number]]]
                require(not missing, f"{target}: {len(missing)} rows are lost: {missing[:_SHOWN]}")
            twice = [row for row, count in rows.items() if count > 1]
            require(not twice, f"{target}: {len(twice)} rows are there more than once: {twice[:_SHOWN]}")
            foreign = sorted(rows.keys() - known)
            require(not foreign, f"{target}: rows that no stream wrote: {foreign[:_SHOWN]}")
