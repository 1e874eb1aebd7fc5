"""Lives one trace from the command line: `python -m <module> SEED [STEPS]` prints what it violates."""

import logging
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults.random_life.trace import Failure, Lived, S


def main(
    generate: Callable[[int, int], Sequence[S]],
    live: Callable[[Sequence[S], Path], Lived[S]],
    shrink: Callable[[Failure[S], Path], Failure[S]],
    default_steps: int,
) -> int:
    logging.disable(logging.CRITICAL)
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else default_steps
    with tempfile.TemporaryDirectory() as directory:
        lived = live(generate(seed, count), Path(directory))
        print(dict(lived.counts))
        if lived.failure is None:
            return 0
        print(lived.failure.reason)
        print(f"seed {seed}:", shrink(lived.failure, Path(directory)))
        return 1
