"""What the steps of one life share: the machine, the model, the clients, and the producers' state."""

from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from tests.faults.topic_life.batches import Writer
from tests.faults.topic_life.machine import Machine
from tests.faults.topic_life.partition_model import PartitionModel
from tests.faults.topic_life.requests import Requests
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.topic_model import ClusterModel, GroupModel, TopicModel

from barnabas.base.clock import ManualClock

TopicPartition = tuple[str, int]


@dataclass(slots=True)
class LastBatch:
    topic: TopicModel
    partition: int
    base_offset: int
    batch: bytes
    is_recent: bool
    """Producers whose last batch carries an old timestamp, or none, are forgotten at a start."""


@dataclass(slots=True)
class Producer:
    """An idempotent producer; with a transactional id, one of transactions."""

    transactional_id: str | None = None
    producer_id: int = -1
    epoch: int = -1
    sequences: dict[tuple[UUID, int], int] = field(default_factory=dict)
    """The next sequence by topic (of this incarnation) and partition."""
    ends: dict[tuple[UUID, int], int] = field(default_factory=dict)
    """The offset behind its last batch in each of them."""
    last: LastBatch | None = None
    transaction: int = -1
    """Number of the open transaction; -1 if none is open."""
    touched: list[PartitionModel] = field(default_factory=list)
    offsets: dict[tuple[str, TopicPartition], tuple[int, int]] = field(default_factory=dict)
    """Offsets that count when the transaction is committed, by group and partition, each with its time."""

    @property
    def identity(self) -> dict[str, int]:
        return {"producer_id": self.producer_id, "producer_epoch": self.epoch}


@dataclass(slots=True)
class Scene:
    world: Machine
    clock: ManualClock
    model: ClusterModel = field(default_factory=ClusterModel)
    writer: Writer = field(default_factory=Writer)
    idempotent: dict[int, Producer] = field(default_factory=dict)
    transactional: dict[int, Producer] = field(default_factory=dict)
    transactions: int = 0
    moments: int = 0
    stray_files: set[Path] = field(default_factory=set)
    """Files among those of a partition, to remove before the next start."""
    coordinators_may_be_off: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    """What was done, by kind: a life that does nothing finds nothing."""

    @property
    def requests(self) -> Requests:
        requests = self.world.requests
        assert requests is not None
        requests.coordinators_may_be_off = self.coordinators_may_be_off
        return requests

    def tick(self) -> int:
        """The next moment in the order of commits."""
        self.moments += 1
        return self.moments

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def partition(self, step: Step) -> tuple[TopicModel, PartitionModel] | None:
        """Where a step is to work; None if there is no such topic, or its log is out of service."""
        topic = self.model.topics.get(step.topic)
        if topic is None:
            return None
        partition = topic.partitions[step.partition % len(topic.partitions)]
        return None if partition.is_offline else (topic, partition)

    def group(self, number: int) -> GroupModel:
        name = f"group-{number}"
        return self.model.groups.setdefault(name, GroupModel(name))
