"""Lives a trace of steps against `barnabas serve`, with confluent-kafka, and the same model.

`python -m tests.faults.topic_life.wire_life SEED [STEPS]` lives one and prints what it violates.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.random_life.trace import Lived
from tests.faults.topic_life import wire_steps
from tests.faults.topic_life.generator import generate
from tests.faults.topic_life.life import ACTS, LAST, Act, take_steps
from tests.faults.topic_life.mixes import ON_THE_WIRE
from tests.faults.topic_life.scene import Scene
from tests.faults.topic_life.served_world import ServedWorld
from tests.faults.topic_life.step import Step

from barnabas.base.clock import ManualClock

_ACTS: Mapping[str, Act] = {**ACTS, "produce_through_kill": wire_steps.produce_through_kill}


def live_on_wire(
    steps: Sequence[Step], directory: Path, program: Sequence[str] = ("barnabas",)
) -> Lived[Step]:
    """Take every step; then look at everything, after a clean stop and a kill too."""
    world = ServedWorld(directory, program)
    scene = Scene(world, ManualClock(int(time.time() * 1000)))
    failure = asyncio.run(take_steps(scene, [*steps, *LAST], _ACTS))
    world.served.assert_no_traceback()
    return Lived(failure, scene.counts)


def main() -> int:
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
    with tempfile.TemporaryDirectory() as directory:
        lived = live_on_wire(generate(seed, count, ON_THE_WIRE), Path(directory))
    print(dict(lived.counts))
    if lived.failure is not None:
        print(f"seed {seed}:", lived.failure)
    return 0 if lived.failure is None else 1


if __name__ == "__main__":
    sys.exit(main())
