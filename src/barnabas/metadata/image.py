"""The cluster as handlers see it: values that never change; a change makes a new image.

The event loop reads `ClusterMetadata.image` without a lock, so everything here is treated as read-only, also
where it is a plain dict for speed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

NO_LEADER = -1
NO_CONTROLLER = -1

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class Address(NamedTuple):
    host: str
    port: int


class PartitionImage(NamedTuple):
    partition: int
    leader: int
    """NO_LEADER while there is none."""
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    state_version: int
    """The store's version of the state node, for compare-and-set; -1 while there is no such node."""


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    topic_id: UUID
    partitions: Mapping[int, PartitionImage]
    """In order, without a gap."""
    node_version: int = 0
    """The store's version of the topic's node."""

    @property
    def internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class BrokerImage:
    id: int
    endpoints: Mapping[str, Address]
    """By the name of the listener."""
    rack: str | None
    epoch: int
    """Grows with every registration of the broker."""


@dataclass(frozen=True, slots=True)
class ClusterImage:
    cluster_id: str = ""
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topic_by_id: Mapping[UUID, TopicImage] = field(default_factory=dict)
    topic_configs: Mapping[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: Mapping[str, dict[str, str]] = field(default_factory=dict)
    """By broker id; "" is the default of the whole cluster."""
    group_configs: Mapping[str, dict[str, str]] = field(default_factory=dict)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        found = self.topics.get(topic)
        return None if found is None else found.partitions.get(partition)
