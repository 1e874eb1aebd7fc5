"""A machine with a broker: log directories in memory, and the metadata store in the first of them.

The store is SQLite's, on a real disk, at the path where the log directory would be. Each of its commits
is synced, so a loss of power leaves it as it is.
"""

import random
import shutil
from pathlib import Path

from tests.faults.topic_life.direct_client import DirectClient
from tests.faults.topic_life.kept_files import KeptFiles

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.broker.broker import Broker

_NEVER = str(2**31 - 1)
_SETTINGS = {
    "node.id": "0",
    "listeners": "PLAINTEXT://127.0.0.1:0",
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
STORE = ".barnabas"


class World:
    def __init__(self, directory: Path, clock: ManualClock, directories: int = 2) -> None:
        self.clock: ManualClock = clock
        self.fs: KeptFiles = KeptFiles(clock)
        self.log_dirs: list[Path] = [directory / f"data{number}" for number in range(directories)]
        self._broker: Broker | None = None
        self.client: DirectClient | None = None

    @property
    def broker(self) -> Broker:
        assert self._broker is not None
        return self._broker

    @property
    def is_running(self) -> bool:
        return self._broker is not None

    async def start(self) -> None:
        settings = {**_SETTINGS, "log.dirs": ",".join(map(str, self.log_dirs))}
        broker = Broker(BrokerConfig.from_properties(settings), clock=self.clock, fs=self.fs)
        await broker.start()
        self._broker, self.client = broker, DirectClient(broker)

    async def stop(self) -> None:
        await self._take().stop()

    async def kill(self) -> None:
        """The process ends here and now: what it had written stays."""
        await self._abandon(self.fs.image())

    async def cut_power(self, rng: random.Random | None) -> None:
        await self._abandon(self.fs.image_after_power_cut(rng))

    async def _abandon(self, left: KeptFiles) -> None:
        stores = {path: path.read_bytes() for path in self._store_files()}
        await self._take().stop(clean=False)
        for path in self._store_files():
            path.unlink()
        for path, content in stores.items():
            path.write_bytes(content)
        self.fs = left

    def _take(self) -> Broker:
        broker, self._broker, self.client = self.broker, None, None
        return broker

    def _store_files(self) -> list[Path]:
        """Without the index of the write-ahead log, which is made anew from it."""
        found = [path for root in self.log_dirs for path in (root / STORE).glob("*") if path.is_file()]
        return [path for path in found if not path.name.endswith("-shm")]

    # --- directories, between two lives of the broker ---------------------------------------------------

    def move(self, source: Path, target: Path) -> None:
        """Rename a log directory, with the store if it is in it."""
        self.fs.rename(source, target)
        if source.exists():
            shutil.move(source, target)
