"""A machine with a broker in this process: log directories in memory, the metadata store in the first.

The store is SQLite's, on a real disk, at the path where the log directory would be. Each of its commits
is synced, so a loss of power leaves it as it is.
"""

import random
import shutil
from pathlib import Path

from tests.faults.topic_life.direct_client import DirectClient
from tests.faults.topic_life.direct_requests import DirectRequests
from tests.faults.topic_life.kept_files import KeptFiles
from tests.faults.topic_life.machine import SETTINGS, Machine

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.filesystem import FileSystem
from barnabas.broker.broker import Broker
from barnabas.broker.environment import Environment

_SETTINGS = {**SETTINGS, "listeners": "PLAINTEXT://127.0.0.1:0"}
STORE = ".barnabas"


class World(Machine):
    def __init__(self, directory: Path, clock: ManualClock, directories: int = 2) -> None:
        super().__init__(directory, directories)
        self._clock: ManualClock = clock
        self._files: KeptFiles = KeptFiles(clock)
        self._broker: Broker | None = None

    @property
    def fs(self) -> FileSystem:  # type: ignore[override]
        return self._files

    @property
    def broker(self) -> Broker:
        assert self._broker is not None
        return self._broker

    async def start(self) -> None:
        settings = {**_SETTINGS, "log.dirs": ",".join(map(str, self.log_dirs))}
        broker = Broker(
            BrokerConfig.from_properties(settings), Environment(clock=self._clock, fs=self._files)
        )
        await broker.start()
        self._broker, self.requests = broker, DirectRequests(DirectClient(broker))

    async def stop(self) -> None:
        await self._take().stop()

    async def kill(self) -> None:
        await self._end(self._files.image())

    async def cut_power(self, rng: random.Random) -> None:
        await self._end(self._files.image_after_power_cut(self.log_dirs, rng))

    async def abandon(self) -> None:
        if self._broker is not None:
            await self._take().stop(clean=False)

    async def _end(self, left: KeptFiles) -> None:
        stores = {path: path.read_bytes() for path in self._store_files()}
        await self._take().stop(clean=False)
        for path in self._store_files():
            path.unlink()
        for path, content in stores.items():
            path.write_bytes(content)
        self._files = left

    def _take(self) -> Broker:
        broker, self._broker, self.requests = self.broker, None, None
        return broker

    def _store_files(self) -> list[Path]:
        """Without the index of the write-ahead log, which is made anew from it."""
        found = [path for root in self.log_dirs for path in (root / STORE).glob("*") if path.is_file()]
        return [path for path in found if not path.name.endswith("-shm")]

    def move(self, source: Path, target: Path) -> None:
        self._files.rename(source, target)
        if source.exists():
            shutil.move(source, target)
