"""Replicas that move from one log directory to another, on two directories in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.fakes.inline_executor import InlineExecutor
from tests.unit.replication.support import NOW, TOPIC_ID, batch

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import ReplicaNotAvailable
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.replication.flusher import Flusher
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.replication.replica_moves import ReplicaMoves
from barnabas.storage.logs import Logs, LogsSettings

ONE, TWO, THREE = Path("/one"), Path("/two"), Path("/three")
KEY = TopicPartition("t", 0)


class Moving:
    """Broker 1 with a partition in the first of its log directories."""

    def __init__(self, fs: FaultyFileSystem | None = None, *, rate: int = 2**63 - 1) -> None:
        self.fs: FaultyFileSystem = fs or FaultyFileSystem()
        self.rate: int = rate
        loop = asyncio.get_running_loop()
        config = LogConfig(segment_bytes=20_000)
        self.logs: Logs = Logs(
            [ONE, TWO, THREE],
            LogsSettings(1, "c"),
            lambda _: config,
            fs=self.fs,
            clock=ManualClock(NOW),
        )
        self.logs.open_all()
        executor = InlineExecutor()
        self.partitions: Partitions = Partitions(
            1, self.logs, Flusher(loop, executor), lambda _: config, clock=ManualClock(NOW)
        )
        self.moves: ReplicaMoves = ReplicaMoves(self.logs, self._find, executor, loop, lambda: self.rate)
        self.follow()
        self.moves.resume()

    def _find(self, key: TopicPartition) -> Partition | None:
        hosted = self.partitions.topic(key.topic)
        return None if hosted is None else hosted.partitions.get(key.partition)

    def follow(self, leader: int = 1, epoch: int = 0, version: int = 0) -> None:
        image = PartitionImage(0, leader, epoch, (1, 2), (1, 2), (), (), version)
        self.partitions.follow_topic(TopicImage("t", TOPIC_ID, {0: image}), is_new=False)

    @property
    def partition(self) -> Partition:
        return self.partitions.get("t", 0)

    @property
    def path(self) -> Path:
        directory = self.logs.directory_of(KEY)
        assert directory is not None
        return directory.path

    def move(self, to: Path) -> None:
        (directory,) = (each for each in self.logs.directories if each.path == to)
        self.moves.move(KEY, directory)

    async def finish(self) -> None:
        while list(self.logs.futures):
            await asyncio.sleep(0)

    def content(self) -> bytes:
        log = self.partition.log
        return b"".join(bytes(self.fs.read_bytes(segment.path(".log"))) for segment in log.segments)

    def stop(self) -> FaultyFileSystem:
        self.logs.clean_shutdown()
        return self.fs


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(scenario(), 60)

    asyncio.run(main())


def append(moving: Moving, batches: int, **options: int) -> None:
    for _ in range(batches):
        moving.partition.append(batch(10, **options), 1)


@pytest.mark.parametrize("leader", [1, 2])
def test_replica_moves_with_all_records_and_takes_more(leader: int) -> None:
    async def scenario() -> None:
        moving = Moving()
        append(moving, 500)
        moving.follow(leader, 1, 1)
        log = moving.partition.log
        log.maybe_update_high_watermark(4000)
        expected, ends = moving.content(), (log.log_start_offset, log.high_watermark, log.log_end_offset)
        epochs = list(log.leader_epochs.entries)
        assert moving.path == ONE
        moving.move(TWO)
        assert moving.moves.lag(KEY) == 5000
        await moving.finish()
        assert moving.path == TWO
        moved = moving.partition.log
        assert moved is not log
        assert (moved.log_start_offset, moved.high_watermark, moved.log_end_offset) == ends
        assert moving.content() == expected
        assert moved.leader_epochs.entries == epochs
        if leader == 1:
            append(moving, 1)
        else:
            moving.partition.append_fetched(memoryview(batch(10, base_offset=5000, leader_epoch=1)), 0, 0)
        assert moving.partition.log.log_end_offset == 5010
        await moving.moves.stop()

    run(scenario)


def test_records_that_arrive_meanwhile_are_copied_and_truncation_is_followed() -> None:
    async def scenario() -> None:
        moving = Moving()
        append(moving, 3000)
        moving.move(TWO)
        while not moving.moves.lag(KEY) < 30_000:
            await asyncio.sleep(0)
        append(moving, 10)
        moving.follow(2, 1, 1)
        moving.partition.log.truncate_to(100)
        moving.partition.append_fetched(memoryview(batch(7, base_offset=100, leader_epoch=1)), 0, 0)
        expected = moving.content()
        await moving.finish()
        assert moving.path == TWO
        assert moving.content() == expected
        await moving.moves.stop()

    run(scenario)


def test_log_that_starts_within_a_batch_moves() -> None:
    async def scenario() -> None:
        moving = Moving()
        append(moving, 3)
        log = moving.partition.log
        log.maybe_update_high_watermark(30)
        log.delete_records_before(15)
        moving.move(TWO)
        await moving.finish()
        log = moving.partition.log
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (15, 30, 30)
        await moving.moves.stop()

    run(scenario)


def test_move_goes_on_after_a_restart() -> None:
    async def scenario() -> None:
        moving = Moving(rate=1)
        append(moving, 3000)
        expected = moving.content()
        moving.move(TWO)
        while not 0 < moving.moves.lag(KEY) < 30_000:
            await asyncio.sleep(0)
        copied = 30_000 - moving.moves.lag(KEY)
        await moving.moves.stop()
        again = Moving(moving.stop())
        assert (again.path, 30_000 - again.moves.lag(KEY)) == (ONE, copied)
        await again.finish()
        assert again.path == TWO
        assert again.content() == expected
        await again.moves.stop()

    run(scenario)


def test_crash_between_the_two_renames_leaves_the_moved_log(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        moving = Moving()
        append(moving, 20)
        expected = moving.content()
        moving.move(TWO)
        real = moving.fs.rename

        class Crash(BaseException):
            pass

        def crashing(source: Path, target: Path) -> None:
            if source.name.endswith("-future"):
                raise Crash
            real(source, target)

        monkeypatch.setattr(moving.fs, "rename", crashing)
        with pytest.raises(Crash):
            await moving.moves._tasks[KEY]
        monkeypatch.undo()
        moving.logs.abandon()
        again = Moving(moving.fs)
        assert again.path == TWO
        assert again.content() == expected

    run(scenario)


def test_move_to_another_directory_or_back_ends_the_first_one() -> None:
    async def scenario() -> None:
        moving = Moving(rate=1)
        append(moving, 3000)
        moving.move(TWO)
        moving.move(THREE)
        directory = moving.logs.futures.directory_of(KEY)
        assert directory is not None
        assert directory.path == THREE
        moving.move(ONE)
        assert moving.logs.futures.directory_of(KEY) is None
        await moving.moves.stop()
        assert not [name for root in (TWO, THREE) for name in moving.fs.listdir(root) if "future" in name]

    run(scenario)


def test_partition_without_a_replica_is_created_in_the_named_directory() -> None:
    async def scenario() -> None:
        moving = Moving()
        other = TopicPartition("u", 0)
        with pytest.raises(ReplicaNotAvailable):
            moving.moves.move(other, moving.logs.directories[2])
        image = PartitionImage(0, 1, 0, (1,), (1,), (), (), 0)
        moving.partitions.follow_topic(TopicImage("u", TOPIC_ID, {0: image}))
        directory = moving.logs.directory_of(other)
        assert directory is not None
        assert directory.path == THREE

    run(scenario)


def test_deleted_topic_ends_its_move() -> None:
    async def scenario() -> None:
        moving = Moving(rate=1)
        append(moving, 3000)
        moving.move(TWO)
        moving.partitions.remove_topic("t")
        assert not list(moving.logs.futures)
        await moving.moves.stop()

    run(scenario)


def test_failed_target_leaves_the_replica_where_it_is() -> None:
    async def scenario() -> None:
        moving = Moving(rate=1)
        append(moving, 3000)
        moving.move(TWO)
        moving.logs.directories[1].fail(OSError(5, "failed"))
        assert not list(moving.logs.futures)
        append(moving, 1)
        assert moving.path == ONE
        await moving.moves.stop()

    run(scenario)
