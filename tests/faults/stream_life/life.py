"""Lives a trace of steps against a broker and the model.

`python -m tests.faults.stream_life.life SEED [STEPS]` lives one with every kind of step and prints what it
violates.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.faults.random_life import command_line, shrinker
from tests.faults.random_life.trace import Failure, Lived
from tests.faults.random_life.violation import Violation
from tests.faults.stream_life import source_steps, stream_steps
from tests.faults.stream_life.driver import SOURCE, Driver
from tests.faults.stream_life.generator import Mix, generate
from tests.faults.stream_life.scene import Scene
from tests.faults.stream_life.step import Step

from barnabas.testing import Broker

Act = Callable[[Scene, Step], None]
ACTS: Mapping[str, Act] = {
    "start": stream_steps.start,
    "run": stream_steps.run,
    "kill": stream_steps.kill,
    "zombie": stream_steps.zombie,
    "back_up": stream_steps.back_up,
    "restore": stream_steps.restore,
    "copy": stream_steps.copy,
    "delete": stream_steps.delete,
    "produce": source_steps.produce,
    "recreate": source_steps.recreate,
    "grow": source_steps.grow,
    "expire": source_steps.expire,
    "withhold": source_steps.withhold,
    "restart": source_steps.restart,
    "time_out": source_steps.time_out,
    "check": source_steps.check,
    "finish": source_steps.finish,
}
_LAST = Step("finish")


def live(steps: Sequence[Step], directory: Path, driver: Callable[..., Any] = Driver) -> Lived[Step]:
    """Take every step; then run every stream to the end of the data and compare everything."""
    return _live([*steps, _LAST], directory, driver)


def _live(steps: Sequence[Step], directory: Path, driver: Callable[..., Any] = Driver) -> Lived[Step]:
    home = Path(tempfile.mkdtemp(dir=directory))
    failure = None
    with Broker(config={"transaction.max.timeout.ms": 900_000}) as broker:
        broker.create_topic(SOURCE, 2)
        scene = Scene(broker, home, driver=driver)
        for number, step in enumerate(steps):
            try:
                ACTS[step.kind](scene, step)
            except Violation as error:
                failure = Failure(str(error), tuple(steps[: number + 1]))
                break
    shutil.rmtree(home, ignore_errors=True)
    return Lived(failure, scene.counts)


def shrink(failure: Failure[Step], directory: Path) -> Failure[Step]:
    return shrinker.shrink(failure, lambda steps: _live(steps, directory), attempts=60)


if __name__ == "__main__":
    sys.exit(
        command_line.main(lambda seed, count: generate(seed, count, Mix()), live, shrink, default_steps=60)
    )
