"""One step of a life: a plain value, which says all that its execution needs and nothing of what came before.

A step that does not apply (its topic does not exist) does nothing. So any step can be left out of a trace,
and what remains is a trace again.
"""

from dataclasses import dataclass

from tests.faults.random_life.trace import step_text


@dataclass(frozen=True, slots=True)
class Step:
    kind: str
    topic: str = ""
    partition: int = 0
    who: int = 0
    """Which producer or group."""
    amount: int = 0
    option: str = ""
    extras: tuple[str, ...] = ()
    seed: int = 0

    def __repr__(self) -> str:
        return step_text(self)
