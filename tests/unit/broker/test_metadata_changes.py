import asyncio
from collections.abc import Iterator

from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.metadata_changes import MetadataChanges
from barnabas.metadata.cluster import ClusterChange
from barnabas.metadata.image import ClusterImage
from barnabas.network.slices import Slices


class Time:
    def __init__(self) -> None:
        self.now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Applied:
    """Applies a change topic by topic. Each takes a millisecond."""

    def __init__(self) -> None:
        self.time: Time = Time()
        self.topics: list[str] = []
        self.holds: LoopHolds = LoopHolds(self.time)
        self.changes: MetadataChanges = MetadataChanges(self._apply, Slices(self.time), self.holds)

    def _apply(self, change: ClusterChange) -> Iterator[None]:
        for name in sorted(change.topics):
            self.time.now += 0.001
            if name == "bad":
                raise ValueError(name)
            self.topics.append(name)
            yield


def _change(*names: str) -> ClusterChange:
    return ClusterChange(ClusterImage(), ClusterImage(), topics=frozenset(names))


def test_small_change_is_applied_at_once() -> None:
    async def scenario() -> None:
        applied = Applied()
        applied.changes.add(_change("a", "b"))
        assert applied.topics == ["a", "b"]
        await applied.changes.applied()

    asyncio.run(scenario())


def test_change_of_thousands_of_topics_is_applied_in_steps_and_the_next_one_behind_it() -> None:
    async def scenario() -> None:
        applied = Applied()
        names = [f"{number:04}" for number in range(2000)]
        applied.changes.add(_change(*names))
        applied.changes.add(_change("z"))
        assert 0 < len(applied.topics) < 20
        passes = 0
        while "z" not in applied.topics:
            await asyncio.sleep(0)
            passes += 1
        assert passes > 100
        await applied.changes.applied()
        assert applied.topics == [*names, "z"]
        assert applied.holds.count == 0

    asyncio.run(scenario())


def test_applied_waits_until_the_change_is_applied() -> None:
    async def scenario() -> None:
        applied = Applied()
        applied.changes.add(_change(*[f"{number:04}" for number in range(500)]))
        applied.changes.add(_change("z"))
        await applied.changes.applied()
        assert applied.topics[-1] == "z"

    asyncio.run(scenario())


def test_change_that_fails_does_not_keep_the_next_one_from_being_applied() -> None:
    async def scenario() -> None:
        applied = Applied()
        applied.changes.add(_change("a", "bad", "c"))
        applied.changes.add(_change("d"))
        await applied.changes.applied()
        assert applied.topics == ["a", "d"]

    asyncio.run(scenario())
