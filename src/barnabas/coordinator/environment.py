"""What a shard may use: time, deadlines, the cluster as it is, the settings. No loop, no socket, no disk."""

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.base.clock import Clock
from barnabas.coordinator.group_settings import GroupSettings
from barnabas.coordinator.timers import Timers
from barnabas.metadata.image import ClusterImage


@dataclass(slots=True)
class ShardEnvironment:
    """One for each shard. The runtime replaces `image` and `settings` when they change, between requests."""

    clock: Clock
    settings: GroupSettings
    image: ClusterImage = field(default_factory=ClusterImage)
    timers: Timers = field(init=False)

    def __post_init__(self) -> None:
        self.timers = Timers(self.clock)


class RequestContext(NamedTuple):
    """Who asks, and in which version."""

    version: int
    client_id: str
    client_host: str
    """As Kafka writes it: `/127.0.0.1`."""
