import asyncio

import pytest
from tests.patience import PATIENCE

from barnabas.broker.periodic import Periodic


def test_job_that_fails_runs_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        rounds: list[int] = []
        enough = asyncio.Event()

        async def job() -> None:
            rounds.append(len(rounds))
            if len(rounds) == 3:
                enough.set()
            raise RuntimeError("this round")

        periodic = Periodic()
        periodic.every(lambda: 0.0, job, name="test")
        async with asyncio.timeout(PATIENCE):
            await enough.wait()
        await periodic.stop()
        assert len(rounds) == 3

    asyncio.run(scenario())
    assert "test failed; it will run again" in caplog.text


def test_interval_is_read_for_each_round() -> None:
    async def scenario() -> None:
        intervals = iter([0.0, 0.0, 3600.0])
        rounds: list[int] = []

        async def job() -> None:
            rounds.append(1)

        periodic = Periodic()
        periodic.every(lambda: next(intervals), job, name="test")
        async with asyncio.timeout(PATIENCE):
            while len(rounds) < 2:
                await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(rounds) == 2
        await periodic.stop()

    asyncio.run(scenario())


def test_stop_waits_for_nothing_and_ends_the_jobs() -> None:
    async def scenario() -> None:
        ended: list[bool] = []
        started = asyncio.Event()

        async def job() -> None:
            try:
                started.set()
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        periodic = Periodic()
        periodic.every(lambda: 0.0, job, name="test")
        async with asyncio.timeout(PATIENCE):
            await started.wait()
            await periodic.stop()
        assert ended == [True]

    asyncio.run(scenario())
