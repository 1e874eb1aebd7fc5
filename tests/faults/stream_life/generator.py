"""Random lives: steps drawn from a mix, the same for the same seed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.faults.stream_life.driver import POINTS
from tests.faults.stream_life.step import Step
from tests.faults.stream_life.stream_steps import KINDS

WEIGHTS: Mapping[str, int] = {
    "start": 8,
    "produce": 24,
    "run": 18,
    "kill": 14,
    "zombie": 4,
    "back_up": 4,
    "restore": 3,
    "copy": 2,
    "delete": 2,
    "recreate": 2,
    "grow": 2,
    "expire": 3,
    "withhold": 2,
    "restart": 1,
    "time_out": 2,
    "check": 2,
}
_STREAMS = 3
_DEATHS = (*POINTS, "broker-logged", "broker-written")


@dataclass(frozen=True, slots=True)
class Mix:
    weights: Mapping[str, int] = field(default_factory=lambda: WEIGHTS)
    kinds: tuple[str, ...] = KINDS
    deaths: tuple[str, ...] = _DEATHS
    ways: tuple[str, ...] = ("", "", "", "worker", "slow")
    """Of runs to the end."""
    poison: float = 0.05
    """The share of records that the user's query was not made for."""


def generate(seed: int, count: int, mix: Mix) -> list[Step]:
    rng = random.Random(seed)
    kinds, weights = list(mix.weights), list(mix.weights.values())
    first = [Step("start", stream_id, option=rng.choice(mix.kinds)) for stream_id in range(_STREAMS)]
    return first + [_step(rng, rng.choices(kinds, weights)[0], mix) for _ in range(count)]


def _step(rng: random.Random, kind: str, mix: Mix) -> Step:
    stream_id, partition = rng.randrange(_STREAMS), rng.randrange(4)
    match kind:
        case "start":
            return Step(kind, stream_id, option=rng.choice(mix.kinds))
        case "produce":
            if rng.random() < mix.poison:
                return Step(kind, partition=partition, amount=1, option="poison")
            return Step(kind, partition=partition, amount=rng.randint(1, 6))
        case "run":
            return Step(kind, stream_id, option=rng.choice(mix.ways))
        case "kill":
            return Step(kind, stream_id, option=rng.choice(mix.deaths))
        case "copy":
            return Step(kind, stream_id, amount=rng.randrange(_STREAMS))
        case "expire":
            return Step(kind, partition=partition, amount=rng.choice((30, 70, 100)))
        case "withhold":
            return Step(kind, amount=rng.randint(1, 5))
        case "restart":
            return Step(kind, option=rng.choice(("", "kill")))
        case _:
            return Step(kind, stream_id)
