"""A log directory that hangs holds up its own partitions and nobody else."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.fakes.blocking_filesystem import BlockingFileSystem
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce
from tests.patience import PATIENCE
from tests.unit.broker.test_broker import config

from barnabas.broker.broker import Broker
from barnabas.testing.admin import Admin

Scenario = Callable[["Host"], Awaitable[None]]


class Host:
    """A broker with two log directories that pose as two disks."""

    def __init__(self, directory: Path, **properties: object) -> None:
        self.first: Path = directory / "a"
        self.second: Path = directory / "b"
        self.fs: BlockingFileSystem = BlockingFileSystem()
        self.fs.devices = {self.first: 1, self.second: 2}
        both = f"{self.first},{self.second}"
        self.broker: Broker = Broker(config(directory, log_dirs=both, **properties), fs=self.fs)

    async def create_topic(self, name: str, partitions: int, **configs: object) -> None:
        admin = Admin("127.0.0.1", self.broker.port)
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        await asyncio.to_thread(admin.create_topic, name, partitions, settings)
        await self.until(lambda: len(self.partitions(name, self.first, self.second)) == partitions)

    def partitions(self, topic: str, *directories: Path) -> list[int]:
        """Which partitions of a topic are in the directories."""
        names = [path.name for directory in directories for path in directory.glob(f"{topic}-*")]
        return sorted(int(name.rpartition("-")[2]) for name in names)

    async def produce(self, topic: str, partition: int, value: bytes = b"x", **options: Any) -> Any:
        def run() -> Any:
            with RawClient(self.broker.port) as client:
                return produce(client, topic, batch(value), partition=partition, **options)

        return await asyncio.to_thread(run)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.001)


def serve(directory: Path, scenario: Scenario, **properties: object) -> None:
    async def run() -> None:
        host = Host(directory, **properties)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(32))
        await host.broker.start()
        try:
            await scenario(host)
        finally:
            await host.broker.stop()

    asyncio.run(run())


def test_hung_syncs_of_one_directory_leave_the_others_their_threads(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("t", 12, flush_messages=1)
        hung, well = host.partitions("t", host.first), host.partitions("t", host.second)
        with host.fs.hanging(host.first, "sync"):
            waiting = [asyncio.create_task(host.produce("t", partition)) for partition in hung]
            await host.until(lambda: len(host.fs.blocked) >= 2)
            for partition in well:
                assert (await host.produce("t", partition)).error_code == 0
            assert not any(task.done() for task in waiting)
        assert [answer.error_code for answer in await asyncio.gather(*waiting)] == [0] * len(hung)

    serve(tmp_path, scenario, background_threads=2)
