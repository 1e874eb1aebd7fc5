"""What a shard may use: time, deadlines, randomness, the image, the settings. No loop, socket or disk."""

from dataclasses import dataclass, field
from random import Random, SystemRandom
from typing import NamedTuple

from barnabas.base.clock import Clock
from barnabas.group.settings import GroupSettings
from barnabas.metadata.image import ClusterImage
from barnabas.runtime.timers import Timers


@dataclass(slots=True)
class ShardEnvironment:
    """One for each shard. The runtime replaces `image` and `settings` between requests when they change."""

    clock: Clock
    settings: GroupSettings
    image: ClusterImage = field(default_factory=ClusterImage)
    rng: Random = field(default_factory=SystemRandom)
    """For member ids."""
    timers: Timers = field(init=False)

    def __post_init__(self) -> None:
        self.timers = Timers(self.clock)


class RequestContext(NamedTuple):
    """The client of a request, and the request's version."""

    version: int
    client_id: str
    client_host: str
    """In Kafka's format: `/127.0.0.1`."""
