import asyncio
import errno

import pytest
from tests.patience import PATIENCE
from tests.unit.replication.support import NOW, Bench, batch, run

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import (
    FencedLeaderEpoch,
    KafkaError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    StorageError,
    UnknownLeaderEpoch,
)
from barnabas.records.control import build_end_marker
from barnabas.replication.parked_fetch import ParkedFetch
from barnabas.replication.partition_environment import FetchIsolation
from barnabas.storage.append_info import AppendOrigin

FLUSHED = LogConfig(flush_messages=1)


def test_one_replica_acknowledges_at_once() -> None:
    async def scenario() -> None:
        bench = Bench()
        assert bench.append(2) == [None]
        assert bench.partition.log.high_watermark == 2
        assert not bench.executor.waiting

    run(scenario)


def test_where_the_topic_requires_a_flush_the_acknowledgement_waits_for_it() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        errors = bench.append()
        assert errors == []
        assert bench.partition.log.high_watermark == 0
        await bench.step()
        assert errors == [None]
        assert bench.partition.log.high_watermark == 1

    run(scenario)


def test_consumers_do_not_see_what_is_not_flushed() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        bench.append()

        def read() -> object:
            found = bench.partition.read(0, 1000, isolation=FetchIsolation.HIGH_WATERMARK, min_one_batch=True)
            return found.records

        assert read() is None
        await bench.step()
        assert read() is not None

    run(scenario)


def test_appends_during_a_flush_share_the_next_one() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        first = bench.append()
        rest = [bench.append() for _ in range(5)]
        assert len(bench.executor.waiting) == 1
        await bench.step()
        assert first == [None]
        assert not any(rest)
        assert bench.partition.log.high_watermark == 1
        assert len(bench.executor.waiting) == 1
        await bench.step()
        assert rest == [[None]] * 5
        assert not bench.executor.waiting

    run(scenario)


def test_repeated_batch_waits_for_the_flush_of_the_first() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        producer = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
        first, repeated = bench.append(**producer), bench.append(**producer)
        assert (first, repeated) == ([], [])
        await bench.step()
        assert (first, repeated) == ([None], [None])
        assert bench.partition.log.log_end_offset == 1

    run(scenario)


def test_flush_that_fails_fails_all_waiting_requests() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        first, second = bench.append(), bench.append()
        bench.fs.fail_sync(0, error=errno.EIO)
        await bench.step()
        assert [type(error) for error in (*first, *second)] == [StorageError, StorageError]
        assert bench.partition.log.high_watermark == 0
        with pytest.raises(StorageError):
            bench.append()

    run(scenario)


def test_every_tenth_record_waits_when_the_topic_flushes_by_ten() -> None:
    async def scenario() -> None:
        bench = Bench(LogConfig(flush_messages=10))
        assert bench.append(9) == [None]
        errors = bench.append()
        assert errors == []
        await bench.step()
        assert errors == [None]
        assert bench.append(9) == [None]

    run(scenario)


def test_rolled_segment_is_synced_and_no_request_waits_for_it() -> None:
    async def scenario() -> None:
        bench = Bench(LogConfig(segment_bytes=200))
        while not bench.executor.waiting:
            assert bench.append() == [None]
        await bench.step()
        assert 0 < bench.partition.log.recovery_point < bench.partition.log.log_end_offset

    run(scenario)


def test_records_that_survived_a_crash_are_readable_at_once() -> None:
    """Also where the topic requires flushes: recovery has flushed them."""

    async def scenario() -> None:
        bench = Bench(FLUSHED)
        bench.append(3)
        await bench.step()
        bench.logs.abandon()
        again = Bench(FLUSHED, bench.fs)
        assert again.partition.log.high_watermark == again.partition.log.recovery_point == 3

    run(scenario)


# --- leadership ------------------------------------------------------------------------------------------


def test_only_the_leader_appends() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.follow(leader=2)
        with pytest.raises(NotLeaderOrFollower):
            bench.append()

    run(scenario)


def test_lost_leadership_fails_all_waiting_requests() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        errors = bench.append()
        bench.follow(leader=2, epoch=1)
        assert [type(error) for error in errors] == [NotLeaderOrFollower]

    run(scenario)


@pytest.mark.parametrize(
    ("epoch", "error"), [(-1, None), (3, None), (2, FencedLeaderEpoch), (4, UnknownLeaderEpoch)]
)
def test_leader_epoch_of_a_request_is_checked(epoch: int, error: type[KafkaError] | None) -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.follow(epoch=3)
        if error is None:
            bench.partition.check_leader(epoch)
        else:
            with pytest.raises(error):
                bench.partition.check_leader(epoch)

    run(scenario)


def test_read_beyond_the_end_is_out_of_range() -> None:
    async def scenario() -> None:
        bench = Bench()
        with pytest.raises(OffsetOutOfRange):
            bench.partition.read(1, 1000, isolation=FetchIsolation.HIGH_WATERMARK, min_one_batch=True)

    run(scenario)


# --- fetches that wait -----------------------------------------------------------------------------------


class Fetch:
    """Completes at each attempt, unless `missing` bytes are set."""

    def __init__(
        self,
        bench: Bench,
        wanted: int,
        max_wait: float = 60,
        *,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
    ) -> None:
        self.attempts: list[bool] = []
        self.missing: int = 0
        self.parked: ParkedFetch = ParkedFetch(
            [bench.partition],
            wanted,
            max_wait,
            asyncio.get_running_loop(),
            self._try_complete,
            isolation=isolation,
        )

    def _try_complete(self, is_final: bool) -> int:
        self.attempts.append(is_final)
        return 0 if is_final else self.missing


def test_waiting_fetch_is_completed_when_enough_was_appended() -> None:
    async def scenario() -> None:
        bench = Bench()
        fetch = Fetch(bench, wanted=2 * len(batch()))
        bench.append()
        assert fetch.attempts == []
        bench.append()
        assert fetch.attempts == [False]
        assert not bench.partition.watchers

    run(scenario)


def test_fetch_of_committed_records_is_not_woken_by_appends_behind_an_open_transaction() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.append(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        fetch = Fetch(bench, wanted=1, isolation=FetchIsolation.COMMITTED)
        plain = Fetch(bench, wanted=1)
        for _ in range(10):
            bench.append()
        assert plain.attempts == [False]
        assert fetch.attempts == []
        ended = build_end_marker(7, 0, True, 0, NOW)
        bench.partition.append(ended, -1, origin=AppendOrigin.COORDINATOR)
        assert fetch.attempts == [False]
        assert not bench.partition.stable_watchers

    run(scenario)


def test_fetch_of_committed_records_counts_appends_where_no_transaction_is_open() -> None:
    async def scenario() -> None:
        bench = Bench()
        fetch = Fetch(bench, wanted=2 * len(batch()), isolation=FetchIsolation.COMMITTED)
        bench.append()
        assert fetch.attempts == []
        bench.append()
        assert fetch.attempts == [False]

    run(scenario)


def test_change_of_a_configuration_looks_at_the_logs_of_its_topic_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.append()

        def opened() -> object:
            raise AssertionError("every open log was looked at")

        monkeypatch.setattr(bench.logs, "opened", opened)
        bench.config = LogConfig(segment_bytes=12345)
        bench.partitions.apply_config("t")
        bench.partitions.apply_config("unknown")
        assert bench.partition.log.config.segment_bytes == 12345

    run(scenario)


def test_waiting_fetch_waits_for_the_flush() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        fetch = Fetch(bench, wanted=1)
        bench.append()
        assert fetch.attempts == []
        await bench.step()
        assert fetch.attempts == [False]

    run(scenario)


def test_fetch_that_found_too_little_waits_on() -> None:
    async def scenario() -> None:
        bench = Bench()
        fetch = Fetch(bench, wanted=1)
        fetch.missing = 10
        bench.append()
        assert fetch.attempts == [False]
        assert list(bench.partition.watchers) == [fetch.parked]
        fetch.missing = 0
        bench.append()
        assert fetch.attempts == [False, False]
        assert not bench.partition.watchers

    run(scenario)


def test_fetch_that_fails_when_it_is_woken_does_not_fail_the_append(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        def on_readable(self, added: int) -> None:
            raise ZeroDivisionError

        def give_up(self) -> None:
            raise AssertionError("unexpected give_up")

    async def scenario() -> None:
        bench = Bench()
        bench.partition.watchers[Broken()] = None
        fetch = Fetch(bench, wanted=1)
        bench.append()
        assert bench.partition.log.high_watermark == 1
        assert fetch.attempts == [False]
        assert not bench.partition.watchers

    run(scenario)
    assert "in a fetch that waits for t-0" in caplog.text


def test_deleted_topic_wakes_its_fetches() -> None:
    async def scenario() -> None:
        bench = Bench()
        fetch = Fetch(bench, wanted=1_000_000)
        bench.delete_topic()
        assert fetch.attempts == [False]
        assert "t-0" not in bench.fs.list_directories("/data")

    run(scenario)


def test_deleted_topic_fails_waiting_producers() -> None:
    async def scenario() -> None:
        bench = Bench(FLUSHED)
        errors = bench.append()
        bench.delete_topic()
        assert [type(error) for error in errors] == [NotLeaderOrFollower]
        await bench.step()
        assert len(errors) == 1

    run(scenario)


def test_fetch_whose_time_is_up_answers_with_the_available_records() -> None:
    async def scenario() -> None:
        bench = Bench()
        fetch = Fetch(bench, wanted=1, max_wait=0.001)
        async with asyncio.timeout(PATIENCE):
            while not fetch.attempts:
                await asyncio.sleep(0.001)
        assert fetch.attempts == [True]
        assert not bench.partition.watchers
        bench.append()
        assert fetch.attempts == [True]

    run(scenario)


def test_stopping_broker_answers_the_fetches_that_wait() -> None:
    async def scenario() -> None:
        bench = Bench()
        fetches = [Fetch(bench, wanted=1), Fetch(bench, wanted=1000)]
        bench.partitions.answer_parked()
        assert [fetch.attempts for fetch in fetches] == [[True], [True]]
        assert not bench.partition.watchers

    run(scenario)


def test_forgotten_fetch_is_not_woken() -> None:
    async def scenario() -> None:
        bench = Bench()
        fetch = Fetch(bench, wanted=1)
        fetch.parked.forget()
        fetch.parked.forget()
        bench.append()
        assert fetch.attempts == []

    run(scenario)


def test_partition_of_a_deleted_topic_touches_no_log_of_that_name() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.append(2)
        bench.partition.close()
        with pytest.raises(NotLeaderOrFollower):
            bench.append()

    run(scenario)
