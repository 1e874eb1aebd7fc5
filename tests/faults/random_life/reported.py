"""Ends a test with a failing trace, made as short as possible."""

from collections.abc import Callable

import pytest
from tests.faults.random_life.trace import Failure, Lived, S


def reported(seed: int, lived: Lived[S], shrink: Callable[[Failure[S]], Failure[S]]) -> Lived[S]:
    if lived.failure is not None:
        shortest = shrink(lived.failure)
        pytest.fail(f"seed {seed}: {lived.failure.reason}\n{shortest}", pytrace=False)
    return lived
