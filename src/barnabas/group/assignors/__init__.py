"""The server-side assignors of KIP-848, by name.

An assignor is a pure function from the members' subscriptions and their current target assignment to the next
target assignment. The coordinator calls it when it bumps a group epoch. Assignors do not depend on groups,
epochs or records.
"""

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.group.assignors.range_assignor import RangeAssignor
from barnabas.group.assignors.spec import (
    Assignment,
    Assignor,
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
    TargetAssignment,
)
from barnabas.group.assignors.uniform_assignor import UniformAssignor

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
