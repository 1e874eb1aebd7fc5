"""What a simulation ends with when the cluster breaks a promise."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    kind: str
    """The name of the invariant, the same for every seed that breaks it."""
    details: str
    time: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.3f} s: {self.details}"


class Broken(Exception):
    """An invariant does not hold."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation: Violation = violation
