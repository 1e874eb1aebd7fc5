"""A log directory that hangs delays its own partitions and no others."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kio.schema.errors import ErrorCode
from tests.fakes.blocking_filesystem import BlockingFileSystem, be_patient, hanging_directory
from tests.integration.clients.group_requests import commit_offset, committed_offset, wait_for_coordinator
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, fetch, produce, produce_fields, values_in
from tests.patience import PATIENCE
from tests.unit.broker.test_broker import config

from barnabas.broker.broker import Broker
from barnabas.broker.environment import Environment
from barnabas.testing.admin import Admin

Scenario = Callable[["Host"], Awaitable[None]]


class Host:
    """A broker with two log directories that simulate two disks."""

    def __init__(self, directory: Path, **properties: object) -> None:
        self.first: Path = directory / "a"
        self.second: Path = directory / "b"
        self.fs: BlockingFileSystem = BlockingFileSystem()
        self.fs.devices = {self.first: 1, self.second: 2}
        both = f"{self.first},{self.second}"
        self.broker: Broker = Broker(config(directory, log_dirs=both, **properties), Environment(fs=self.fs))

    async def start(self) -> None:
        await self.broker.start()
        be_patient(self.broker._logs.workers, self.first, self.second)

    def hanging(self, directory: Path, *kinds: str) -> AbstractContextManager[None]:
        return hanging_directory(self.fs, self.broker._logs.workers, directory, *kinds)

    async def create_topic(self, name: str, partitions: int, **configs: object) -> None:
        admin = Admin("127.0.0.1", self.broker.port)
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        await asyncio.to_thread(admin.create_topic, name, partitions, settings)
        await self.until(lambda: len(self.partitions(name, self.first, self.second)) == partitions)

    def partitions(self, topic: str, *directories: Path) -> list[int]:
        """The partitions of a topic in the directories."""
        names = [path.name for directory in directories for path in directory.glob(f"{topic}-*")]
        return sorted(int(name.rpartition("-")[2]) for name in names if not name.endswith("-delete"))

    async def produce(self, topic: str, partition: int, value: bytes = b"x", **options: Any) -> Any:
        def run() -> Any:
            with RawClient(self.broker.port) as client:
                return produce(client, topic, batch(value), partition=partition, **options)

        return await asyncio.to_thread(run)

    async def until_produced(self, topic: str, partition: int) -> None:
        """Repeat a Produce request, as clients do, until it succeeds."""
        async with asyncio.timeout(PATIENCE):
            while (await self.produce(topic, partition)).error_code:
                await asyncio.sleep(0.01)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.001)


def serve(directory: Path, scenario: Scenario, **properties: object) -> None:
    async def run() -> None:
        host = Host(directory, **properties)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(32))
        await host.start()
        try:
            await scenario(host)
        finally:
            await host.broker.stop()

    asyncio.run(run())


def test_hung_syncs_of_one_directory_leave_the_others_their_threads(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("t", 12, flush_messages=1)
        hung, well = host.partitions("t", host.first), host.partitions("t", host.second)
        with host.hanging(host.first, "sync"):
            waiting = [asyncio.create_task(host.produce("t", partition)) for partition in hung]
            await host.until(lambda: len(host.fs.blocked) >= 2)
            for partition in well:
                assert (await host.produce("t", partition)).error_code == 0
            assert not any(task.done() for task in waiting)
        assert [answer.error_code for answer in await asyncio.gather(*waiting)] == [0] * len(hung)

    serve(tmp_path, scenario, background_threads=2)


def test_producers_of_other_directories_go_on_while_one_hangs(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("t", 4)
        hung, well = host.partitions("t", host.first), host.partitions("t", host.second)
        for partition in (*hung, *well):
            assert (await host.produce("t", partition)).base_offset == 0
        with host.hanging(host.first):
            waiting = [asyncio.create_task(host.produce("t", each)) for each in hung for _ in range(3)]
            await host.until(lambda: bool(host.fs.blocked))
            for number in range(20):
                for partition in well:
                    assert (await host.produce("t", partition)).base_offset == 1 + number
            assert host.fs.blocked
            assert not any(task.done() for task in waiting)
        answers = await asyncio.gather(*waiting)
        assert [answer.error_code for answer in answers] == [0] * 6
        assert sorted(answer.base_offset for answer in answers) == [1, 1, 2, 2, 3, 3]
        assert (await host.produce("t", hung[0])).base_offset == 4

    serve(tmp_path, scenario)


def test_batches_of_a_connection_keep_their_order_over_a_hang(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("t", 2)
        (hung,) = host.partitions("t", host.first)
        values = [b"%d" % number for number in range(30)]

        def send(client: RawClient) -> None:
            for value in values:
                client.send("produce", 9, **produce_fields("t", batch(value), partition=hung))

        with RawClient(host.broker.port) as client:
            with host.hanging(host.first):
                await asyncio.to_thread(send, client)
                await host.until(lambda: bool(host.fs.blocked))
                assert (await host.produce("t", 1 - hung)).error_code == 0
            answers = [await asyncio.to_thread(client.receive, "produce", 9) for _ in values]
            assert [_only(answer).base_offset for answer in answers] == list(range(30))
            read = await asyncio.to_thread(fetch, client, "t", 0, partition=hung)
            assert values_in(read.records) == values

    serve(tmp_path, scenario)


def _only(answer: Any) -> Any:
    return answer.responses[0].partition_responses[0]


def test_partitions_are_created_and_deleted_beside_a_directory_that_hangs(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("deleted", 4)
        admin = Admin("127.0.0.1", host.broker.port)
        with host.hanging(host.first):
            await asyncio.to_thread(admin.delete_topics, ["deleted"])
            await host.until(lambda: not host.partitions("deleted", host.second))
            assert host.partitions("deleted", host.first)
            await host.create_topic("new", 3)
            assert host.partitions("new", host.second) == [0, 1, 2]
            for partition in range(3):
                assert (await host.produce("new", partition)).error_code == 0
        await host.until(lambda: not host.partitions("deleted", host.first))

    serve(tmp_path, scenario)


def test_reader_of_a_directory_that_hangs_waits_and_others_read(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("t", 2)
        (hung,), (well,) = host.partitions("t", host.first), host.partitions("t", host.second)
        for partition in (hung, well):
            await host.produce("t", partition, b"stored")
        with RawClient(host.broker.port) as client:
            with host.hanging(host.first):
                waiting = asyncio.create_task(host.produce("t", hung))
                await host.until(lambda: bool(host.fs.blocked))
                answer = await asyncio.to_thread(fetch, client, "t", 0, partition=well)
                assert values_in(answer.records) == [b"stored"]
                answer = await asyncio.to_thread(fetch, client, "t", 0, partition=hung)
                assert answer.error_code == 0
            await waiting
            answer = await asyncio.to_thread(fetch, client, "t", 0, partition=hung)
            assert values_in(answer.records) == [b"stored", b"x"]

    serve(tmp_path, scenario)


def test_commit_waits_for_the_directory_of_its_coordinator(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("t", 2)
        with RawClient(host.broker.port) as client:
            await asyncio.to_thread(wait_for_coordinator, host.broker.port, "g")
            assert (await asyncio.to_thread(commit_offset, client, "g", "t", 1)) == 0
            is_first = bool(host.partitions("__consumer_offsets", host.first))
            root, other = (host.first, host.second) if is_first else (host.second, host.first)
            with host.hanging(root):
                commit = asyncio.create_task(asyncio.to_thread(commit_offset, client, "g", "t", 2))
                await host.until(lambda: bool(host.fs.blocked))
                (elsewhere,) = host.partitions("t", other)
                assert (await host.produce("t", elsewhere)).error_code == 0
                assert not commit.done()
            assert await commit == 0
            assert (await asyncio.to_thread(committed_offset, client, "g", "t")) == 2

    serve(tmp_path, scenario, offsets_topic_num_partitions=1)


def test_disk_that_fails_after_a_hang_takes_its_directory_offline(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("t", 2)
        (hung,), (well,) = host.partitions("t", host.first), host.partitions("t", host.second)
        with host.hanging(host.first):
            waiting = asyncio.create_task(host.produce("t", hung))
            await host.until(lambda: bool(host.fs.blocked))
            host.fs.failing = host.first
        assert (await waiting).error_code == ErrorCode.kafka_storage_error
        assert (await host.produce("t", hung)).error_code == ErrorCode.kafka_storage_error
        assert (await host.produce("t", well)).error_code == 0

    serve(tmp_path, scenario)


def test_recreated_topic_waits_for_the_directory_that_hangs_and_no_other_does(tmp_path: Path) -> None:
    async def scenario(host: Host) -> None:
        await host.create_topic("again", 4)
        await host.create_topic("other", 2)
        hung, (well,) = host.partitions("again", host.first), host.partitions("other", host.second)
        admin = Admin("127.0.0.1", host.broker.port)
        with host.hanging(host.first):
            await asyncio.to_thread(admin.delete_topics, ["again"])
            await host.until(lambda: bool(host.fs.blocked))
            await asyncio.to_thread(admin.create_topic, "again", 4, {})
            refused = await host.produce("again", hung[0])
            assert refused.error_code == ErrorCode.kafka_storage_error.value
            for _ in range(5):
                assert (await host.produce("other", well)).error_code == 0
            assert len(host.fs.blocked) == 1
            assert not [path for path in host.second.glob("again-*") if path.name == f"again-{hung[0]}"]
        for partition in range(4):
            await host.until_produced("again", partition)

    serve(tmp_path, scenario)
