"""What lives of topics and of streams have in common: a trace of steps, and how taking them ended.

A step is a frozen dataclass with a `kind`. It says all that its execution needs and nothing of what came
before; one that does not apply does nothing. So any step can be left out of a trace, and what remains is a
trace again.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

S = TypeVar("S")
"""The steps of one kind of life."""


@dataclasses.dataclass(frozen=True, slots=True)
class Failure(Generic[S]):
    reason: str
    steps: tuple[S, ...]
    """Up to the one that failed."""

    @property
    def kind(self) -> str:
        """The reason without its numbers and names of partitions."""
        return re.sub(r"(\b\w+-)?\d+", "#", self.reason)[:40]

    def __str__(self) -> str:
        lines = "\n".join(f"    {step!r}," for step in self.steps)
        return f"{self.reason}\nafter these {len(self.steps)} steps:\n{lines}"


@dataclasses.dataclass(frozen=True, slots=True)
class Lived(Generic[S]):
    failure: Failure[S] | None
    counts: Mapping[str, int]


def step_text(step: Any) -> str:
    """The step as it is written in a test, without fields that have their default."""
    written = [repr(step.kind)]
    written += [
        f"{each.name}={getattr(step, each.name)!r}"
        for each in dataclasses.fields(step)
        if each.name != "kind" and getattr(step, each.name) != each.default
    ]
    return f"Step({', '.join(written)})"
