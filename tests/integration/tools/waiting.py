"""Waiting for what Apache Kafka's brokers learn from their controller a moment after the answer."""

import time
from collections.abc import Callable

from tests.integration.tools.programs import Ran
from tests.patience import PATIENCE


def until(ask: Callable[[], Ran], is_there: Callable[[Ran], bool]) -> Ran:
    """What `ask` gives as soon as it is right; the last of it when that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ran = ask()
        if is_there(ran) or time.monotonic() > deadline:
            return ran
        time.sleep(0.02)
