import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from barnabas.base.background_threads import BackgroundThreads, Rounds, threads_of

A, B = Path("/disk-a"), Path("/disk-b")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """A disk that hangs until the event is set."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def threads(gate: threading.Event) -> Iterator[BackgroundThreads]:
    threads = BackgroundThreads(2)
    yield threads
    gate.set()
    threads.shutdown()


def test_directory_that_hangs_takes_its_own_threads_only(
    threads: BackgroundThreads, gate: threading.Event
) -> None:
    for _ in range(10):
        threads.of(A).submit(gate.wait)
    assert threads.of(B).submit(lambda: "b").result(PATIENCE) == "b"
    assert threads.submit(lambda: "rest").result(PATIENCE) == "rest"


def test_executor_without_pools_serves_every_directory() -> None:
    plain = Executor()
    assert threads_of(plain, A) is plain


def test_round_leaves_out_a_directory_that_has_not_returned(
    threads: BackgroundThreads, gate: threading.Event
) -> None:
    async def scenario() -> None:
        rounds = Rounds(threads)
        ended = await rounds.run({A: gate.wait, B: lambda: True}, patience=0.1)
        assert set(ended) == {B}
        started = threading.Event()
        await rounds.run({A: started.set, B: lambda: None})
        assert not started.is_set()
        gate.set()
        while A not in await rounds.run({A: lambda: True}):
            await asyncio.sleep(0)

    asyncio.run(scenario())
