"""The machine of a life: log directories, and a broker on them that runs, is stopped or is killed."""

import random
from abc import ABC, abstractmethod
from pathlib import Path

from tests.faults.topic_life.requests import Requests

from barnabas.base.filesystem import FileSystem

_NEVER = str(2**31 - 1)
SETTINGS = {
    "node.id": "0",
    "offsets.topic.num.partitions": "2",
    "offsets.retention.minutes": _NEVER,
    "transaction.state.log.num.partitions": "2",
    "transaction.max.timeout.ms": _NEVER,
    "transactional.id.expiration.ms": _NEVER,
    "producer.id.expiration.ms": _NEVER,
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    # What a broker does by itself is a step of its own here, taken at a chosen moment.
    "log.initial.task.delay.ms": _NEVER,
    "log.retention.check.interval.ms": _NEVER,
    "log.flush.offset.checkpoint.interval.ms": _NEVER,
    "log.flush.start.offset.checkpoint.interval.ms": _NEVER,
    "replica.high.watermark.checkpoint.interval.ms": _NEVER,
    "log.cleaner.backoff.ms": _NEVER,
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.delete.delay.ms": "0",
}


class Machine(ABC):
    fs: FileSystem
    requests: Requests | None
    """To the broker that runs; None if none does."""

    def __init__(self, directory: Path, directories: int) -> None:
        self.log_dirs: list[Path] = [directory / f"data{number}" for number in range(directories)]
        self.requests = None

    @abstractmethod
    async def start(self) -> None:
        """Raises KafkaError or OSError if the broker does not start."""

    @abstractmethod
    async def stop(self) -> None: ...

    @abstractmethod
    async def kill(self) -> None:
        """The process ends here and now: what it had written stays."""

    @abstractmethod
    async def cut_power(self, rng: random.Random) -> None: ...

    @abstractmethod
    async def abandon(self) -> None:
        """The life is over: end a broker that still runs, and let go of everything."""

    @abstractmethod
    def move(self, source: Path, target: Path) -> None:
        """Rename a log directory while no broker runs, with the store if it is in it."""
