"""What a follower does to its log, and how the consumers that read from it notice."""

import asyncio

import pytest
from tests.unit.replication.support import Bench, batch, run

from barnabas.base.errors import InvalidRecord
from barnabas.replication.parked_fetch import ParkedFetch
from barnabas.replication.partition_environment import FetchIsolation

LEADER, EPOCH = 2, 5


class Following(Bench):
    """Broker 1 follows broker 2."""

    def __init__(self) -> None:
        super().__init__(leader=LEADER)
        self.follow(leader=LEADER, epoch=EPOCH, isr=(1, 2), replicas=(1, 2), version=1)

    def fetched(self, count: int, *, at: int = 0, epoch: int = 1, watermark: int = 0, start: int = 0) -> None:
        records = batch(count, base_offset=at, leader_epoch=epoch) if count else b""
        self.partition.append_fetched(memoryview(records), watermark, start)

    @property
    def range(self) -> tuple[int, int, int]:
        log = self.partition.log
        return log.log_start_offset, log.high_watermark, log.log_end_offset


def test_empty_follower_starts_with_the_batch_in_which_the_leaders_log_starts() -> None:
    async def scenario() -> None:
        following = Following()
        following.partition.log.truncate_fully_and_start_at(7)
        following.fetched(5, at=5, watermark=10, start=7)
        assert following.range == (7, 10, 10)
        assert following.partition.log.segments.first.base_offset == 5

    run(scenario)


@pytest.mark.parametrize("at", [0, 4])
def test_batch_that_does_not_follow_the_log_is_refused(at: int) -> None:
    async def scenario() -> None:
        following = Following()
        following.partition.log.truncate_fully_and_start_at(7)
        if at:
            following.fetched(1, at=7)
        with pytest.raises(InvalidRecord):
            following.fetched(4, at=at)

    run(scenario)


@pytest.mark.parametrize("isolation", [FetchIsolation.HIGH_WATERMARK, FetchIsolation.COMMITTED])
def test_consumers_of_a_follower_are_woken_by_its_high_watermark(isolation: FetchIsolation) -> None:
    async def scenario() -> None:
        following = Following()
        following.fetched(2)
        reads: list[bool] = []

        def try_complete(is_final: bool) -> int:
            reads.append(is_final)
            return 0

        loop = asyncio.get_running_loop()
        ParkedFetch([following.partition], 1, 60, loop, try_complete, isolation=isolation)
        following.fetched(2, at=2)
        assert reads == []
        following.fetched(0, watermark=3)
        assert reads == [False]

    run(scenario)


def test_follower_takes_the_log_start_of_the_leader_up_to_its_high_watermark() -> None:
    async def scenario() -> None:
        following = Following()
        following.fetched(4, watermark=2, start=3)
        assert following.range == (0, 2, 4)
        following.fetched(0, watermark=4, start=3)
        assert following.range == (3, 4, 4)

    run(scenario)


def test_epoch_that_no_log_here_knows_truncates_to_the_leaders_end_and_not_to_the_high_watermark() -> None:
    async def scenario() -> None:
        following = Following()
        for offset in range(4):
            following.fetched(1, at=offset, epoch=-1, watermark=1)
        following.partition.truncate_to_divergence(3, 3)
        assert following.range == (0, 1, 3)

    run(scenario)


def test_records_of_epochs_that_the_leader_cannot_know_are_removed() -> None:
    """The log of another cluster, or a metadata store that was restored."""

    async def scenario() -> None:
        following = Following()
        following.fetched(3, epoch=EPOCH)
        following.fetched(2, at=3, epoch=EPOCH + 9)
        following.partition.truncate_to_range(0, 9, EPOCH)
        assert following.range == (0, 0, 3)
        assert following.partition.log.leader_epochs.latest_epoch == EPOCH

    run(scenario)


def test_records_of_an_unknown_producer_are_stored() -> None:
    """The records before it may be deleted on the leader (KAFKA-6003)."""

    async def scenario() -> None:
        following = Following()
        records = batch(2, leader_epoch=1, producer_id=9, producer_epoch=0, base_sequence=40)
        following.partition.append_fetched(memoryview(records), 2, 0)
        assert following.range == (0, 2, 2)

    run(scenario)
