"""The loop of the simulation: asyncio's rules, virtual time, one trace for one seed."""

import asyncio
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.patience import PROGRAM_PATIENCE
from tests.simulation.node_loop import NodeLoop
from tests.simulation.scheduler import Deadlock, Livelock, Scheduler, TimeLimit
from tests.simulation.sealed import sealed

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler(1)


@pytest.fixture
def loop(scheduler: Scheduler) -> NodeLoop:
    return NodeLoop.on(scheduler, "one")


def busy_trace(seed: int) -> int:
    """The digest of a program in which three nodes sleep, share queues, use threads and cancel tasks."""
    scheduler = Scheduler(seed)
    loops = [NodeLoop.on(scheduler, f"node-{number}") for number in range(3)]

    async def worker(queue: "asyncio.Queue[int]", rng: random.Random) -> int:
        total = 0
        while (item := await queue.get()) >= 0:
            await asyncio.sleep(rng.random() / 100)
            total += await asyncio.to_thread(int, item * 2)
        return total

    async def main(number: int) -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(3)
        rng = scheduler.stream(f"program {number}")
        workers = [asyncio.ensure_future(worker(queue, rng)) for _ in range(3)]
        for item in range(20):
            await queue.put(item)
        slow = asyncio.ensure_future(asyncio.sleep(1000))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow, 0.05)
        for _ in workers:
            await queue.put(-1)
        assert sum(await asyncio.gather(*workers)) == 380

    tasks = [loop.create_task(main(number)) for number, loop in enumerate(loops)]
    scheduler.run_until(lambda: all(task.done() for task in tasks), 60)
    for task in tasks:
        task.result()
    assert not scheduler.unexpected
    return scheduler.trace.digest


def test_one_seed_has_one_trace() -> None:
    assert busy_trace(7) == busy_trace(7)


def test_seeds_have_different_traces() -> None:
    assert len({busy_trace(seed) for seed in range(20)}) == 20


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_trace_does_not_depend_on_the_process(hash_seed: str) -> None:
    program = "from tests.simulation.test_loop import busy_trace; print(busy_trace(7))"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        timeout=PROGRAM_PATIENCE,
    )
    assert found.stdout.strip() == str(busy_trace(7)), found.stderr


def test_virtual_time_passes_without_waiting(loop: NodeLoop) -> None:
    began = time.monotonic()
    loop.run(asyncio.sleep(100_000), limit=200_000)
    assert loop.time() >= 100_000
    assert time.monotonic() - began < 60


def test_callbacks_of_one_node_run_in_order(loop: NodeLoop, scheduler: Scheduler) -> None:
    seen: list[int] = []
    for number in range(50):
        loop.call_soon(seen.append, number)
    scheduler.run_until(lambda: len(seen) == 50, 1)
    assert seen == list(range(50))


def test_nodes_are_interleaved(scheduler: Scheduler) -> None:
    seen: list[str] = []
    for name in ("a", "b"):
        loop = NodeLoop.on(scheduler, name)
        for _ in range(20):
            loop.call_soon(seen.append, name)
    scheduler.run_until(lambda: len(seen) == 40, 1)
    assert seen not in (sorted(seen), sorted(seen, reverse=True))


def test_cancelled_timer_does_not_fire(loop: NodeLoop, scheduler: Scheduler) -> None:
    seen: list[str] = []
    loop.call_later(1, seen.append, "cancelled").cancel()
    loop.call_later(1, seen.append, "fired")
    scheduler.run_for(2)
    assert seen == ["fired"]


def test_executor_runs_here_and_in_order(loop: NodeLoop) -> None:
    seen: list[tuple[int, int]] = []
    thread = ThreadPoolExecutor(1)

    def work(number: int) -> None:
        seen.append((number, threading.get_ident()))

    async def main() -> float:
        await asyncio.gather(*(loop.run_in_executor(thread, work, number) for number in range(20)))
        return loop.time()

    assert loop.run(main()) > 0.001
    assert seen == [(number, threading.get_ident()) for number in range(20)]


def test_work_of_several_threads_is_reordered(loop: NodeLoop) -> None:
    seen: list[int] = []

    async def main() -> None:
        await asyncio.gather(*(asyncio.to_thread(seen.append, number) for number in range(20)))

    loop.run(main())
    assert sorted(seen) == list(range(20))
    assert seen != list(range(20))


def test_error_of_a_thread_reaches_its_caller(loop: NodeLoop) -> None:
    with pytest.raises(ZeroDivisionError):
        loop.run(asyncio.to_thread(lambda: 1 / 0))


def test_call_from_a_thread_runs_before_the_caller_wakes(loop: NodeLoop) -> None:
    seen: list[str] = []

    async def main() -> None:
        await asyncio.to_thread(loop.call_soon_threadsafe, seen.append, "called")
        seen.append("awake")

    loop.run(main())
    assert seen == ["called", "awake"]


def test_deadlock_is_found(loop: NodeLoop) -> None:
    with pytest.raises(Deadlock, match="nothing is left to run"):
        loop.run(asyncio.Event().wait())


def test_livelock_is_found(loop: NodeLoop) -> None:
    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    async def main() -> None:
        await loop.create_task(spin())

    loop.scheduler.most_callbacks = 1000
    with pytest.raises(Livelock, match="spin"):
        loop.run(main())
    loop.kill()
    loop.discard()


def test_time_limit_is_kept(loop: NodeLoop) -> None:
    with pytest.raises(TimeLimit):
        loop.run(asyncio.sleep(100), limit=10)


def test_paused_node_stands_still(loop: NodeLoop, scheduler: Scheduler) -> None:
    seen: list[float] = []
    loop.call_later(1, lambda: seen.append(loop.time()))
    loop.run_in_executor(None, lambda: seen.append(-1.0))
    loop.pause()
    scheduler.run_for(10)
    assert seen == []
    loop.resume()
    scheduler.run_for(1)
    assert sorted(seen) == [-1.0, pytest.approx(10, abs=0.1)]


def test_killed_node_does_nothing_more(loop: NodeLoop, scheduler: Scheduler) -> None:
    seen: list[str] = []

    async def main() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            seen.append("closed")

    loop.create_task(main())
    loop.call_later(1, seen.append, "timer")
    loop.run_in_executor(None, seen.append, "thread")
    loop.call_soon(loop.kill)
    scheduler.run_for(10)
    assert seen == []
    loop.discard()
    assert seen == ["closed"]


def test_failing_callback_is_noted(loop: NodeLoop, scheduler: Scheduler) -> None:
    loop.call_soon(lambda: 1 / 0)
    scheduler.run_for(1)
    assert "ZeroDivisionError" in scheduler.unexpected[0]


def test_time_and_entropy_of_the_machine_are_sealed(scheduler: Scheduler) -> None:
    def drawn() -> tuple[object, ...]:
        with sealed(Scheduler(3)):
            return uuid.uuid4(), os.urandom(4), time.monotonic(), time.time(), random.random()

    assert drawn() == drawn()
    assert time.monotonic() != 0
