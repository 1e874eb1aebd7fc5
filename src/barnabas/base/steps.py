"""Long work in steps, as a generator: its caller decides when other work runs in between.

It yields None after each small step. Where something is to be done that may go to a thread it yields a
function; it is sent the result, or what the function raised is thrown into it.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[Callable[[], Any] | None, Any, T]


def at_once(steps: Steps[T]) -> T:
    """Do all steps here and now."""
    value: Any = None
    failure: Exception | None = None
    while True:
        try:
            work = steps.send(value) if failure is None else steps.throw(failure)
        except StopIteration as done:
            result: T = done.value
            return result
        value, failure = None, None
        try:
            value = None if work is None else work()
        except Exception as error:  # noqa: BLE001  for the steps to handle
            failure = error
