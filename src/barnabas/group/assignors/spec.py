"""The input and the result of an assignor.

The coordinator builds a `GroupSpec` from its state. An assignor treats it as read-only and returns a new
assignment with an entry for each member, empty for a member without partitions. An assignment never has a
topic without partitions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

from barnabas.base.errors import UnknownServerError

Assignment = Mapping[UUID, frozenset[int]]
"""Topic id -> partitions."""

TargetAssignment = dict[str, dict[UUID, frozenset[int]]]
"""Member id -> topic id -> partitions."""

_SIGN_BITS = (1 << 127) | (1 << 63)


class PartitionAssignorError(UnknownServerError):
    """No assignment can be computed for this group. The member gets UNKNOWN_SERVER_ERROR, as in Kafka."""


class MemberSpec(NamedTuple):
    instance_id: str | None
    rack_id: str | None
    topic_ids: frozenset[UUID]
    """The subscription, with names and regular expression resolved."""
    assigned: Assignment
    """The member's current target assignment."""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    members: Mapping[str, MemberSpec]
    homogeneous: bool
    """Whether all members subscribe to the same topics."""
    partition_counts: Mapping[UUID, int]
    """Every existing topic with a subscription."""

    def partition_count(self, topic_id: UUID) -> int:
        count = self.partition_counts.get(topic_id)
        if count is None:
            raise PartitionAssignorError(f"a member subscribes to topic {topic_id}, which does not exist")
        return count


class Assignor(Protocol):
    @property
    def name(self) -> str: ...

    def assign(self, spec: GroupSpec) -> TargetAssignment: ...


def topic_order(topic_id: UUID) -> int:
    """Sort key of topic ids in Kafka's order: two signed 64-bit halves."""
    return topic_id.int ^ _SIGN_BITS
