"""The budget of the broker's event loop as an assertion."""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.base.loop_holds import COLLECTION
from barnabas.testing import Broker

LONGEST_HOLD = 0.1


@contextmanager
def no_long_hold(broker: Broker, seconds: float = LONGEST_HOLD) -> Iterator[None]:
    """Fails if anything in the block holds the broker's event loop longer than `seconds` of CPU time.

    Except a garbage collection of everything, which comes when a broker has four times as many objects as at
    the last one (docs/bounds.md).
    """
    before = broker.loop_holds()
    yield
    held = {
        name: worst
        for name, (_, worst) in broker.loop_holds().items()
        if name != COLLECTION and worst > seconds and worst != before.get(name, (0, 0.0))[1]
    }
    assert not held, f"the event loop was held: {held}"
