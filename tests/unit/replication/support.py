"""A partition on a log in memory, with threads that run when the test says so."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.fakes.stepping_executor import SteppingExecutor

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.metadata.isr_proposal import IsrProposal
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.replication.flusher import Flusher
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.storage.logs import Logs, LogsSettings

ROOT = Path("/data")
TOPIC_ID = UUID(int=99)
NOW = 1_600_000_000_000


def batch(count: int = 1, **options: Any) -> bytes:
    return build_batch([Record(index, NOW, None, b"value", ()) for index in range(count)], **options)


class Bench:
    """Must be made on a running loop."""

    lag_ms: int = 30_000

    def __init__(
        self, config: LogConfig | None = None, fs: FaultyFileSystem | None = None, *, leader: int = 1
    ) -> None:
        self.config: LogConfig = config or LogConfig()
        self.fs: FaultyFileSystem = fs or FaultyFileSystem()
        self.clock: ManualClock = ManualClock(NOW)
        self.executor: SteppingExecutor = SteppingExecutor()
        self.flusher: Flusher = Flusher(asyncio.get_running_loop(), self.executor)
        self.proposals: list[IsrProposal] = []
        """In-sync sets that the leader proposed to the controller."""
        self.epochs: dict[int, int] = {2: 1, 3: 1}
        """Of the brokers that may join an in-sync set."""
        self.logs: Logs = Logs(
            [ROOT], LogsSettings(1, "c"), lambda _: self.config, fs=self.fs, clock=self.clock
        )
        self.logs.open_all()
        self.partitions: Partitions = Partitions(
            1,
            self.logs,
            self.flusher,
            lambda _: self.config,
            clock=self.clock,
            replica_lag_time_max_ms=self.lag_ms,
            propose=lambda _, proposal: self.proposals.append(proposal),
            is_eligible=lambda broker_id, epoch: self.epochs.get(broker_id) == epoch,
        )
        self.follow(leader=leader)

    def follow(
        self,
        *,
        leader: int = 1,
        epoch: int = 0,
        isr: tuple[int, ...] = (1,),
        replicas: tuple[int, ...] = (1,),
        version: int = 0,
        adding: tuple[int, ...] = (),
    ) -> None:
        image = PartitionImage(0, leader, epoch, isr, replicas, adding, (), version)
        self.partitions.follow_topic(TopicImage("t", TOPIC_ID, {0: image}))

    def delete_topic(self) -> None:
        self.partitions.follow(ClusterImage("c"))

    @property
    def partition(self) -> Partition:
        return self.partitions.get("t", 0)

    @property
    def key(self) -> TopicPartition:
        return self.partition.topic_partition

    def append(self, count: int = 1, **options: Any) -> list[KafkaError | None]:
        """Append a batch. The list gets its acknowledgement."""
        errors: list[KafkaError | None] = []
        info = self.partition.append(batch(count, **options), -1)
        if self.partition.must_wait(info, -1):
            self.partition.when_acknowledged(info, -1).when_done(lambda done: errors.append(done.error))
        else:
            errors.append(None)
        return errors

    async def step(self) -> None:
        """Let the thread do its next work, and the loop process the result."""
        self.executor.step()
        for _ in range(3):
            await asyncio.sleep(0)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())
