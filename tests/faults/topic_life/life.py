"""Lives a trace of steps against a broker and the model, and makes a failing trace shorter.

`python -m tests.faults.topic_life.life SEED [STEPS]` lives one with every kind of damage and prints what it
violates.
"""

import asyncio
import itertools
import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.topic_life import (
    inspection,
    record_steps,
    restart_steps,
    topic_steps,
    transaction_steps,
    upkeep_steps,
)
from tests.faults.topic_life.direct_client import Unanswered
from tests.faults.topic_life.generator import Mix, generate
from tests.faults.topic_life.scene import Scene
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.violation import Violation
from tests.faults.topic_life.world import World

from barnabas.base.clock import ManualClock
from barnabas.base.errors import KafkaError

Act = Callable[[Scene, Step], Awaitable[None]]
ACTS: Mapping[str, Act] = {
    "create": topic_steps.create,
    "delete": topic_steps.delete,
    "configure": topic_steps.configure,
    "produce": record_steps.produce,
    "produce_idempotent": record_steps.produce_idempotent,
    "repeat": record_steps.repeat,
    "produce_in_transaction": transaction_steps.produce,
    "end_transaction": transaction_steps.end,
    "take_over": transaction_steps.take_over,
    "commit_offset": transaction_steps.commit_offset,
    "commit_offset_in_transaction": transaction_steps.commit_offset_in_transaction,
    "delete_records": record_steps.delete_records,
    "advance": upkeep_steps.advance,
    "checkpoint": upkeep_steps.checkpoint,
    "retain": upkeep_steps.retain,
    "compact": upkeep_steps.compact,
    "check": inspection.check,
    "restart": restart_steps.restart,
}
_LAST = (Step("check"), Step("restart", option="clean"), Step("restart", option="kill"))


@dataclass(frozen=True, slots=True)
class Failure:
    reason: str
    steps: tuple[Step, ...]
    """Up to the one that failed."""

    @property
    def kind(self) -> str:
        """The reason without its numbers and names of partitions."""
        return re.sub(r"(\b\w+-)?\d+", "#", self.reason)[:40]

    def __str__(self) -> str:
        lines = "\n".join(f"    {step!r}," for step in self.steps)
        return f"{self.reason}\nafter these {len(self.steps)} steps:\n{lines}"


@dataclass(frozen=True, slots=True)
class Lived:
    failure: Failure | None
    counts: Mapping[str, int]


def live(steps: Sequence[Step], directory: Path, log_dirs: int = 2) -> Lived:
    """Take every step; then look at everything, after a clean stop and a kill too."""
    return asyncio.run(_live([*steps, *_LAST], directory, log_dirs))


async def _live(steps: Sequence[Step], directory: Path, log_dirs: int = 2) -> Lived:
    place = Path(tempfile.mkdtemp(dir=directory))
    clock = ManualClock()
    scene = Scene(World(place, clock, log_dirs), clock)
    await scene.world.start()
    failure = None
    for number, step in enumerate(steps):
        try:
            await ACTS[step.kind](scene, step)
        except (Violation, Unanswered, KafkaError) as error:
            failure = Failure(str(error), tuple(steps[: number + 1]))
            break
    if scene.world.is_running:
        await scene.world.broker.stop(clean=False)
    shutil.rmtree(place, ignore_errors=True)
    return Lived(failure, scene.counts)


def shrink(failure: Failure, directory: Path, log_dirs: int = 2, attempts: int = 150) -> Failure:
    """Leave out what the failure does not need: halves first, then smaller and smaller parts."""
    shortest = failure
    size = max(1, len(failure.steps) // 2)
    left = itertools.count(attempts, -1)
    while next(left) > 0:
        found = _without_part(shortest, size, directory, log_dirs, left)
        if found is not None:
            shortest = found
        elif size == 1:
            break
        else:
            size = size // 2
    return shortest


def _without_part(
    failure: Failure, size: int, directory: Path, log_dirs: int, left: "itertools.count[int]"
) -> Failure | None:
    """The first failure of the same kind of a trace without `size` steps in a row."""
    last = len(failure.steps) - 1
    for start in range(0, last, size):
        if next(left) <= 0:
            return None
        steps = [*failure.steps[:start], *failure.steps[min(start + size, last) :]]
        found = asyncio.run(_live(steps, directory, log_dirs)).failure
        if found is not None and found.kind == failure.kind:
            return found
    return None


def main() -> int:
    logging.disable(logging.CRITICAL)
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300
    with tempfile.TemporaryDirectory() as directory:
        lived = live(generate(seed, count, Mix()), Path(directory))
        print(dict(lived.counts))
        if lived.failure is None:
            return 0
        print(lived.failure.reason)
        print(f"seed {seed}:", shrink(lived.failure, Path(directory)))
        return 1


if __name__ == "__main__":
    sys.exit(main())
