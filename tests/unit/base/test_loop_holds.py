import asyncio
import logging

import pytest

from barnabas.base.loop_holds import LoopHolds


class Time:
    """A clock that steps advance."""

    def __init__(self) -> None:
        self.now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_steps_within_the_budget_are_not_counted() -> None:
    time = Time()
    holds = LoopHolds(time)

    def step() -> int:
        time.now += 0.02
        return 7

    assert holds.run("job", step) == 7
    assert holds.count == 0
    assert holds.worst_seconds == 0.0


def test_longer_steps_are_counted_by_name_also_if_they_fail() -> None:
    time = Time()
    holds = LoopHolds(time)

    def step() -> None:
        time.now += 0.5
        raise KeyError

    with pytest.raises(KeyError):
        holds.run("job", step)
    holds.note("Fetch", 0.1)
    holds.note("Fetch", 0.05)
    assert holds.summary() == {"job": (1, 0.5), "Fetch": (2, 0.1)}
    assert (holds.count, holds.worst_seconds) == (3, 0.5)


@pytest.mark.parametrize(
    ("own", "collecting", "counted"),
    [
        (0.01, 0.25, {"garbage collection": (1, 0.25)}),
        (0.5, 0.25, {"garbage collection": (1, 0.25), "job": (1, 0.5)}),
        (0.5, 0.01, {"job": (1, 0.51)}),
    ],
)
def test_garbage_collection_is_no_part_of_the_step_in_which_it_happens(
    own: float, collecting: float, counted: dict[str, tuple[int, float]]
) -> None:
    time = Time()
    holds = LoopHolds(time)

    def step() -> None:
        began = time.now
        time.now += collecting
        holds.note_collection(began)
        time.now += own

    holds.run("job", step)
    assert holds.summary() == counted
    time.now += 1
    holds.note("Fetch", 0.5)
    assert holds.summary() == {**counted, "Fetch": (1, 0.5)}


def test_log_names_the_step_and_is_not_flooded(caplog: pytest.LogCaptureFixture) -> None:
    holds = LoopHolds()
    with caplog.at_level(logging.WARNING, "loop"):
        for _ in range(1000):
            holds.note("DescribeGroups", 0.25, "version 6, 99 bytes")
        holds.note("Fetch", 0.1)
    assert [record.getMessage() for record in caplog.records] == [
        "DescribeGroups held the event loop for 250 ms, other clients waited (version 6, 99 bytes)",
        "Fetch held the event loop for 100 ms, other clients waited",
    ]


def test_number_of_names_is_bounded() -> None:
    holds = LoopHolds()
    for number in range(1000):
        holds.note(f"job {number}", 0.1)
    assert len(holds.counts) < 300
    assert holds.count == 1000


def test_each_step_of_a_coroutine_is_measured() -> None:
    async def scenario() -> None:
        time = Time()
        holds = LoopHolds(time)

        async def work() -> str:
            time.now += 0.015
            await asyncio.sleep(0)
            time.now += 0.3
            await asyncio.sleep(0)
            time.now += 0.015
            return "done"

        assert await holds.measured("job", work(), lambda: "details") == "done"
        assert holds.summary() == {"job": (1, 0.3)}

    asyncio.run(scenario())


def test_measured_coroutine_gets_failures_and_cancellation() -> None:
    async def scenario() -> None:
        holds = LoopHolds()
        failing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        seen: list[str] = []

        async def work() -> None:
            try:
                await failing
            except ValueError:
                seen.append("failed")
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        async def measured() -> None:
            await holds.measured("job", work())

        task = asyncio.get_running_loop().create_task(measured())
        await asyncio.sleep(0)
        failing.set_exception(ValueError())
        while not seen:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["failed", "cancelled"]

    asyncio.run(scenario())


def test_scheduled_callbacks_are_measured_under_their_name() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        time = Time()
        holds = LoopHolds(time)
        done = asyncio.Event()

        def slow() -> None:
            time.now += 0.1

        def last() -> None:
            slow()
            done.set()

        holds.named("soon", loop.call_soon)(slow)
        holds.named_later("later", loop.call_later)(0.001, last)
        await done.wait()
        await asyncio.sleep(0)
        assert {name: count for name, (count, _) in holds.summary().items()} == {"soon": 1, "later": 1}
        assert holds.worst_seconds == pytest.approx(0.1)

    asyncio.run(scenario())
