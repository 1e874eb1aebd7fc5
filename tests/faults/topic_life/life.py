"""Lives a trace of steps against a broker and the model.

`python -m tests.faults.topic_life.life SEED [STEPS]` lives one with every kind of damage and prints what it
violates.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from tests.faults.random_life import command_line, shrinker
from tests.faults.random_life.trace import Failure, Lived
from tests.faults.random_life.violation import Violation
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
LAST = (Step("check"), Step("restart", option="clean"), Step("restart", option="kill"))


def live(steps: Sequence[Step], directory: Path, log_dirs: int = 2) -> Lived[Step]:
    """Take every step; then look at everything, after a clean stop and a kill too."""
    return asyncio.run(_live([*steps, *LAST], directory, log_dirs))


async def _live(steps: Sequence[Step], directory: Path, log_dirs: int = 2) -> Lived[Step]:
    home = Path(tempfile.mkdtemp(dir=directory))
    clock = ManualClock()
    scene = Scene(World(home, clock, log_dirs), clock)
    failure = await take_steps(scene, steps, ACTS)
    shutil.rmtree(home, ignore_errors=True)
    return Lived(failure, scene.counts)


async def take_steps(scene: Scene, steps: Sequence[Step], acts: Mapping[str, Act]) -> Failure[Step] | None:
    """Start the broker, take the steps up to the first violation, and end the broker."""
    try:
        await scene.world.start()
        for number, step in enumerate(steps):
            try:
                await acts[step.kind](scene, step)
            except (Violation, Unanswered, KafkaError) as error:
                return Failure(str(error), tuple(steps[: number + 1]))
        return None
    finally:
        await scene.world.abandon()


def shrink(failure: Failure[Step], directory: Path, log_dirs: int = 2) -> Failure[Step]:
    return shrinker.shrink(
        failure, lambda steps: asyncio.run(_live(steps, directory, log_dirs)), attempts=150
    )


if __name__ == "__main__":
    sys.exit(
        command_line.main(lambda seed, count: generate(seed, count, Mix()), live, shrink, default_steps=300)
    )
