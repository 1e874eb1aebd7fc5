"""The server-side assignors of KIP-848, by the name a member asks for them with.

An assignor is a pure function from the members' subscriptions and their current target assignment to the next
target assignment. The coordinator calls it when it bumps a group's epoch; nothing here knows groups, epochs
or records.
"""

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.coordinator.assignors.range_assignor import RangeAssignor
from barnabas.coordinator.assignors.spec import (
    Assignment,
    Assignor,
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
    TargetAssignment,
)
from barnabas.coordinator.assignors.uniform_assignor import UniformAssignor

__all__ = [
    "ASSIGNORS",
    "Assignment",
    "Assignor",
    "GroupSpec",
    "MemberSpec",
    "PartitionAssignorError",
    "RangeAssignor",
    "TargetAssignment",
    "UniformAssignor",
]

ASSIGNORS: Mapping[str, Assignor] = MappingProxyType(
    {assignor.name: assignor for assignor in (UniformAssignor(), RangeAssignor())}
)
"""In Kafka's order of preference: the first is the default of `group.consumer.assignors`."""
