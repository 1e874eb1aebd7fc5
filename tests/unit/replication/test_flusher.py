import asyncio
import errno
from collections.abc import Callable

from tests.patience import PATIENCE
from tests.unit.replication.support import Bench, batch, run

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import KafkaError, StorageError


def test_nothing_to_sync_calls_back_at_once() -> None:
    async def scenario() -> None:
        bench = Bench()
        log = bench.partition.log
        log.flush()
        errors: list[KafkaError | None] = []
        bench.flusher.request(log, errors.append)
        assert errors == [None]
        assert not bench.executor.waiting

    run(scenario)


def test_recovery_point_moves_when_the_sync_is_done() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.append(3)
        log = bench.partition.log
        bench.flusher.request(log, lambda _: None)
        bench.append(2)
        assert log.recovery_point == 0
        await bench.step()
        assert log.recovery_point == 3

    run(scenario)


def test_requests_during_a_sync_share_the_next_one() -> None:
    async def scenario() -> None:
        bench = Bench()
        log = bench.partition.log
        flushed: list[int] = []

        def recorder(number: int) -> Callable[[object], None]:
            return lambda _: flushed.append(number)

        for number in range(4):
            bench.append()
            bench.flusher.request(log, recorder(number))
        assert len(bench.executor.waiting) == 1
        await bench.step()
        assert flushed == [0]
        await bench.step()
        assert flushed == [0, 1, 2, 3]
        assert not bench.executor.waiting

    run(scenario)


def test_request_by_policy_does_not_disturb_a_sync_that_runs() -> None:
    async def scenario() -> None:
        bench = Bench(LogConfig(flush_ms=0))
        log = bench.partition.log
        bench.append()
        bench.flusher.request_due(log)
        bench.append()
        bench.flusher.request_due(log)
        assert len(bench.executor.waiting) == 1
        await bench.step()
        assert log.recovery_point == 1
        bench.flusher.request_due(log)
        await bench.step()
        assert log.recovery_point == 2

    run(scenario)


def test_segment_sealed_during_a_sync_is_synced_behind_it() -> None:
    async def scenario() -> None:
        bench = Bench()
        log = bench.partition.log
        bench.append()
        bench.flusher.request(log, lambda _: None)
        bench.append()
        log.roll()
        bench.flusher.request_due(log)
        assert len(bench.executor.waiting) == 1
        await bench.step()
        assert log.recovery_point == 1
        await bench.step()
        assert log.recovery_point == 2
        assert not log.flush_due

    run(scenario)


def test_failing_disk_is_reported_and_the_log_refuses_further_work() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.append()
        log = bench.partition.log
        errors: list[KafkaError | None] = []
        bench.flusher.request(log, errors.append)
        bench.fs.fail_sync(0, error=errno.EIO)
        await bench.step()
        assert [type(error) for error in errors] == [StorageError]
        assert log.is_offline
        assert log.recovery_point == 0

    run(scenario)


def test_log_deleted_while_it_is_synced_is_no_failure() -> None:
    async def scenario() -> None:
        bench = Bench(LogConfig(flush_messages=1))
        bench.append()
        log = bench.partition.log
        bench.delete_topic()
        await bench.step()
        assert all(directory.is_online for directory in bench.logs.directories)
        assert log.is_closed

    run(scenario)


def test_drain_waits_for_the_sync_that_runs_and_the_one_behind_it() -> None:
    async def scenario() -> None:
        bench = Bench(LogConfig(flush_messages=1))
        first, second = bench.append(), bench.append()
        draining = asyncio.create_task(bench.flusher.drain())
        await bench.step()
        assert first == [None]
        assert not draining.done()
        await bench.step()
        async with asyncio.timeout(PATIENCE):
            await draining
        assert second == [None]

    run(scenario)


def test_drain_without_work_returns() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.partition.append(batch(), 1)
        async with asyncio.timeout(PATIENCE):
            await bench.flusher.drain()

    run(scenario)
