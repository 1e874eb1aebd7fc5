"""Waiting for what Apache Kafka's brokers learn from their controller a moment after the answer."""

import time
from collections.abc import Callable

from tests.integration.tools.programs import Ran
from tests.patience import PATIENCE


def until(run: Callable[[], Ran], is_there: Callable[[Ran], bool]) -> Ran:
    """Repeats `run` until the result is right. Returns the last result after the limit."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ran = run()
        if is_there(ran) or time.monotonic() > deadline:
            return ran
        time.sleep(0.02)
