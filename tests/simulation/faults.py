"""What goes wrong in a simulation: a list of plain values, drawn from a seed or written by hand.

A fault says when it happens, to which broker, and for how long: it heals by itself. So any fault can be left
out of a list, and what remains is a list again. A fault that does not apply (the broker is not up) does
nothing.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

KINDS: Mapping[str, int] = {
    "kill": 4,
    "cut_power": 2,
    "restart": 3,
    "pause": 3,
    "isolate": 4,
    "isolate_from_store": 2,
    "expire_session": 2,
    "store_away": 1,
    "lose_reply": 1,
    "late_changes": 2,
    "slow_disk": 2,
    "full_disk": 1,
    "reset": 3,
    "skew": 1,
    "move_controller": 1,
    "elect": 2,
    "reassign": 0,
    "join": 0,
}
"""How often each kind is drawn."""
_SHORT, _LONG = (0.05, 1.5), (3.2, 8.0)
"""Seconds: within the timeout of a session, and beyond it."""
_SKEW_MS = 3_600_000

LEADER, FOLLOWER, SECOND_FOLLOWER, CONTROLLER, OUTSIDER = -10, -11, -12, -13, -14
"""Brokers by their roles when the faults begin: in the first partition, and in the cluster.

An outsider has no replica of it and is not the controller."""
CLIENTS = -15
"""All clients, as the other side of a cut."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    at: float
    """Seconds after the clients have begun."""
    broker: int = 0
    """Its number, or its role."""
    other: int = -1
    """The other side of a cut; -1: every other host."""
    direction: str = "both"
    """Of a cut: what the broker sends (out), what is sent to it (in), or both."""
    seconds: float = 0.0
    seed: int = 0

    def __repr__(self) -> str:
        """As it is written in a test, without what is not said."""
        said = [repr(self.kind), f"{self.at:.3f}"]
        said += [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)[2:]
            if getattr(self, each.name) != each.default
        ]
        return f"Fault({', '.join(said)})"


END = "end"
"""Not a fault: clients stop and everything is healed."""


def generate(
    seed: int, count: int, seconds: float, brokers: int, kinds: Mapping[str, int] = KINDS
) -> tuple[Fault, ...]:
    """Faults within so many seconds, in the order of time; the same for the same seed."""
    rng = random.Random(f"{seed}/faults")
    drawn = [_draw(rng, seconds, brokers, kinds) for _ in range(count)]
    return tuple(sorted(drawn, key=lambda fault: fault.at))


def _draw(rng: random.Random, seconds: float, brokers: int, kinds: Mapping[str, int]) -> Fault:
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    lasts = round(rng.uniform(*(_SHORT if rng.random() < 0.6 else _LONG)), 3)
    at = round(rng.uniform(0, seconds), 3)
    broker, other = rng.randrange(brokers), rng.randrange(brokers)
    direction = rng.choice(("in", "out", "both"))
    number = rng.randrange(1 << 30)
    match kind:
        case "isolate" | "reset":
            return Fault(kind, at, broker, other if other != broker else -1, direction, lasts)
        case "cut_power":
            return Fault(kind, at, broker, seconds=lasts, seed=number)
        case "skew":
            return Fault(kind, at, broker, seconds=lasts, seed=rng.choice((-_SKEW_MS, _SKEW_MS)))
        case "expire_session" | "lose_reply":
            return Fault(kind, at, broker)
        case "store_away":
            return Fault(kind, at, seconds=lasts)
        case "move_controller":
            return Fault(kind, at)
        case "elect" | "reassign":
            return Fault(kind, at, broker, seed=number)
        case _:
            return Fault(kind, at, broker, seconds=lasts)


def listed(faults: Sequence[Fault]) -> str:
    return "\n".join(f"    {fault!r}," for fault in faults)
