"""Requests to the controller and their results: plain values, errors included.

An `error` of `ErrorCode.none` is success. A `message` of None sends the error code without a message, as
Kafka does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from uuid import UUID

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import ZERO_UUID

NO_ERROR = ErrorCode.none


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    num_partitions: int = -1
    """-1: the broker's default."""
    replication_factor: int = -1
    assignments: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Partition and its replicas. If given, the two numbers must be -1."""
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    name: str
    error: ErrorCode = NO_ERROR
    message: str | None = None
    topic_id: UUID = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    """The topic's own configuration. The response shows it among the defaults."""


@dataclass(frozen=True, slots=True)
class AdoptedTopic:
    """A topic whose logs are already on this broker's disks."""

    name: str
    topic_id: UUID
    partition_count: int
    configs: Mapping[str, str] = field(default_factory=dict)
    leader_epochs: Mapping[int, int] = field(default_factory=dict)
    """The last epoch in each partition's log. The new leader epoch starts above it."""


@dataclass(frozen=True, slots=True)
class TopicRef:
    """A topic by name or by id. Exactly one of them should be given."""

    name: str | None = None
    topic_id: UUID = ZERO_UUID


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    name: str | None
    topic_id: UUID = ZERO_UUID
    error: ErrorCode = NO_ERROR
    message: str | None = None


@dataclass(frozen=True, slots=True)
class NewPartitions:
    name: str
    count: int
    """The total number of partitions after the change."""
    assignments: tuple[tuple[int, ...], ...] | None = None
    """Replicas of each new partition, or None for automatic placement."""


@dataclass(frozen=True, slots=True)
class PartitionsResult:
    name: str
    error: ErrorCode = NO_ERROR
    message: str | None = None


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigReplacement:
    """AlterConfigs: the whole configuration of a resource."""

    resource_type: int
    resource_name: str
    configs: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class ConfigAlteration:
    """IncrementalAlterConfigs: (key, ConfigOperation, value) each."""

    resource_type: int
    resource_name: str
    configs: tuple[tuple[str, int, str | None], ...]


@dataclass(frozen=True, slots=True)
class ConfigResult:
    resource_type: int
    resource_name: str
    error: ErrorCode = NO_ERROR
    message: str | None = None
