"""Makes a failing trace shorter: takes it again without some of its steps, as long as it fails alike."""

import itertools
from collections.abc import Callable, Sequence

from tests.faults.random_life.trace import Failure, Lived, S


def shrink(failure: Failure[S], live: Callable[[Sequence[S]], Lived[S]], attempts: int) -> Failure[S]:
    """Leave out what the failure does not need: halves first, then smaller and smaller parts."""
    shortest = failure
    size = max(1, len(failure.steps) // 2)
    left = itertools.count(attempts, -1)
    while next(left) > 0:
        found = _without_part(shortest, size, live, left)
        if found is not None:
            shortest = found
        elif size == 1:
            break
        else:
            size = size // 2
    return shortest


def _without_part(
    failure: Failure[S], size: int, live: Callable[[Sequence[S]], Lived[S]], left: "itertools.count[int]"
) -> Failure[S] | None:
    """The first failure of the same kind of a trace without `size` steps in a row."""
    last = len(failure.steps) - 1
    for start in range(0, last, size):
        if next(left) <= 0:
            return None
        steps = [*failure.steps[:start], *failure.steps[min(start + size, last) :]]
        found = live(steps).failure
        if found is not None and found.kind == failure.kind:
            return found
    return None
