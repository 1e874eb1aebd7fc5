"""Random lives: steps drawn from a mix, the same for the same seed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.faults.topic_life import damage
from tests.faults.topic_life.batches import CODECS, STAMPS
from tests.faults.topic_life.step import Step

WEIGHTS: Mapping[str, int] = {
    "create": 10,
    "delete": 3,
    "configure": 6,
    "produce": 24,
    "produce_idempotent": 8,
    "repeat": 3,
    "produce_in_transaction": 10,
    "end_transaction": 7,
    "take_over": 1,
    "commit_offset": 5,
    "commit_offset_in_transaction": 2,
    "delete_records": 6,
    "advance": 4,
    "checkpoint": 2,
    "retain": 3,
    "compact": 3,
    "check": 1,
    "restart": 8,
}
DAMAGES = tuple(
    f"{way}:{kind}"
    for kind in (*damage.BINARY, *damage.TEXT, damage.PARTITION_METADATA)
    for way in damage.ways_for(kind)
)


@dataclass(frozen=True, slots=True)
class Mix:
    weights: Mapping[str, int] = field(default_factory=lambda: WEIGHTS)
    endings: Mapping[str, int] = field(default_factory=lambda: {"clean": 4, "kill": 4, "power": 2})
    topics: tuple[str, ...] = ("a", "b", "c")
    stamps: tuple[str, ...] = STAMPS
    damages: tuple[str, ...] = DAMAGES
    damages_after_kill: tuple[str, ...] | None = None
    """After a kill only these: files below the recovery point are believed then; None: `damages`."""
    damaged: float = 0.4
    """The share of restarts with damage."""
    arrangements: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    """What topics are configured with; everything if nothing is named."""
    log_dirs: int = 2


def generate(seed: int, count: int, mix: Mix) -> list[Step]:
    rng = random.Random(seed)
    kinds, weights = list(mix.weights), list(mix.weights.values())
    first = [
        Step("create", topic, amount=2, seed=rng.randrange(1 << 30), extras=_configs(rng, mix))
        for topic in mix.topics
    ]
    return first + [_step(rng, rng.choices(kinds, weights)[0], mix) for _ in range(count)]


def _step(rng: random.Random, kind: str, mix: Mix) -> Step:
    topic, partition, seed = rng.choice(mix.topics), rng.randrange(2), rng.randrange(1 << 30)
    match kind:
        case "create":
            return Step(kind, topic, amount=rng.randint(1, 2), extras=_configs(rng, mix), seed=seed)
        case "configure":
            return Step(kind, topic, option=rng.choice(mix.configs) if mix.configs else "", seed=seed)
        case "delete":
            return Step(kind, topic, seed=seed)
        case "produce" | "produce_idempotent" | "produce_in_transaction" | "produce_through_kill":
            option = f"{rng.choice(CODECS)}/{rng.choice((*mix.stamps, 'now', 'now'))}"
            return Step(kind, topic, partition, rng.randrange(3), rng.randint(1, 12), option, seed=seed)
        case "end_transaction":
            return Step(kind, who=rng.randrange(3), option=rng.choice(("committed", "aborted")))
        case "take_over" | "repeat":
            return Step(kind, who=rng.randrange(3))
        case "commit_offset" | "commit_offset_in_transaction":
            return Step(kind, topic, partition, rng.randrange(3), rng.randrange(1000))
        case "delete_records":
            return Step(kind, topic, partition, amount=rng.choice((0, 10, 50, 90, 100)))
        case "advance":
            return Step(kind, amount=rng.choice((10, 1000, 61_000, 700_000)))
        case "restart":
            return _restart(rng, mix, seed)
        case _:
            return Step(kind, seed=seed)


def _configs(rng: random.Random, mix: Mix) -> tuple[str, ...]:
    return tuple(rng.sample(mix.configs, rng.randint(1, len(mix.configs)))) if mix.configs else ()


def _restart(rng: random.Random, mix: Mix, seed: int) -> Step:
    ending = rng.choices(list(mix.endings), list(mix.endings.values()))[0]
    extras: list[str] = []
    damages = mix.damages
    if ending == "kill" and mix.damages_after_kill is not None:
        damages = mix.damages_after_kill
    if ending != "power" and damages and rng.random() < mix.damaged:
        extras = [part for _ in range(rng.randint(1, 2)) for part in rng.choice(damages).split("+")]
    if mix.arrangements and rng.random() < 0.3:
        extras.append(rng.choice(mix.arrangements))
    return Step("restart", option=ending, extras=tuple(extras), seed=seed)
