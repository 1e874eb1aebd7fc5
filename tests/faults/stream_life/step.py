"""One step of a life: a plain value, which says all that its execution needs and nothing of what came before.

A step that does not apply (its stream does not exist) does nothing. So any step can be left out of a trace,
and what remains is a trace again.
"""

from dataclasses import dataclass

from tests.faults.random_life.trace import step_text


@dataclass(frozen=True, slots=True)
class Step:
    kind: str
    stream_id: int = 0
    """Which stream."""
    partition: int = 0
    amount: int = 0
    option: str = ""

    def __repr__(self) -> str:
        return step_text(self)
