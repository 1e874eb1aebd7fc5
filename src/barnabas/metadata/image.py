"""The cluster as handlers see it: immutable values. A change creates a new image.

The event loop reads `ClusterMetadata.image` without a lock. Everything here is treated as read-only, plain
dicts included (they are used for speed).
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
    """NO_LEADER if the partition has no leader."""
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    state_version: int
    """The store's version of the state node, for compare-and-set: the partition epoch. -1 if there is no such
    node."""
    elr: tuple[int, ...] = ()
    """Eligible leader replicas (KIP-966): they left the ISR and still have every committed record."""
    last_known_elr: tuple[int, ...] = ()
    """The last leader of a partition that has none."""
    is_recovering: bool = False
    """The leader was elected outside of the ISR and ELR, and has not finished its recovery (KIP-704)."""

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)


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
    """Increases with every registration of the broker."""
    is_shutting_down: bool = False


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker that the cluster knows, with a session or without."""

    broker: BrokerImage
    """With the epoch of its session, or the last active epoch if it has no session."""
    is_alive: bool
    """The broker has a session."""
    active_epoch: int
    """The broker epoch that the controller has activated. -1 before the first."""
    is_unclean: bool
    """The logs of the broker may have lost their ends since its last registration."""
    software: str = ""
    node_version: int = -1
    offline_replicas: frozenset[tuple[UUID, int]] = frozenset()
    """Topic id and partition of each replica whose log directory has failed."""

    @property
    def is_active(self) -> bool:
        """The broker may lead, and may be in an ISR. Otherwise it is fenced."""
        return self.is_alive and self.active_epoch == self.broker.epoch


@dataclass(frozen=True, slots=True)
class ClusterImage:
    cluster_id: str = ""
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    """The active brokers: fenced ones are in `registrations` only."""
    registrations: Mapping[int, Registration] = field(default_factory=dict)
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topic_by_id: Mapping[UUID, TopicImage] = field(default_factory=dict)
    topic_configs: Mapping[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: Mapping[str, dict[str, str]] = field(default_factory=dict)
    """By broker id. "" is the cluster-wide default."""
    group_configs: Mapping[str, dict[str, str]] = field(default_factory=dict)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        found = self.topics.get(topic)
        return None if found is None else found.partitions.get(partition)

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        """Empty if there is no such partition."""
        found = self.partition(topic, partition)
        return () if found is None else found.replicas
