import asyncio

from tests.patience import PATIENCE

from barnabas.network.slices import SLICE_SECONDS, Slices


class Time:
    def __init__(self) -> None:
        self.now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_work_goes_on_at_once_while_its_slice_lasts() -> None:
    async def scenario() -> None:
        time = Time()
        slices = Slices(time)
        slices.begin()
        others = asyncio.get_running_loop().create_task(asyncio.sleep(0))
        for _ in range(100):
            await slices.pause()
        assert not others.done()
        time.now += SLICE_SECONDS
        await slices.pause()
        await slices.pause()
        assert others.done()

    asyncio.run(scenario())


def test_two_that_work_take_turns_with_one_slice_per_pass_of_the_loop() -> None:
    async def scenario() -> None:
        time = Time()
        slices = Slices(time)
        seen: list[str] = []

        async def work(name: str) -> None:
            for _ in range(3):
                await slices.pause()
                seen.append(name)
                time.now += SLICE_SECONDS

        async def other() -> None:
            while len(seen) - seen.count("-") < 6:
                if seen[-1:] != ["-"]:
                    seen.append("-")
                await asyncio.sleep(0)

        await asyncio.gather(work("a"), work("b"), other())
        steps = "".join(seen)
        assert steps.replace("-", "")[:4] == "abab"
        assert "ab" not in steps
        assert "ba" not in steps

    asyncio.run(scenario())


def test_cancelled_work_does_not_keep_the_others_waiting() -> None:
    async def scenario() -> None:
        slices = Slices(Time())
        first = asyncio.get_running_loop().create_task(slices.pause())
        second = asyncio.get_running_loop().create_task(slices.pause())
        await asyncio.sleep(0)
        first.cancel()
        async with asyncio.timeout(PATIENCE):
            await second
        assert first.cancelled()

    asyncio.run(scenario())
