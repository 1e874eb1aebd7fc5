"""A member of a consumer group, as a value: a change creates a new member.

`value` is what the member sent about itself (its subscription record). `current` is what it owns and its
state on the way to its target (its current-assignment record). Both are the values of its two records, so
writing a member needs no translation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from uuid import UUID

from barnabas.group.records import (
    ConsumerMemberValue,
    CurrentAssignmentValue,
    EpochedAssignment,
)

JOIN_EPOCH = 0
"""In a heartbeat: the member joins or rejoins."""
LEAVE_EPOCH = -1
"""The member leaves."""
STATIC_LEAVE_EPOCH = -2
"""The static member leaves temporarily. It keeps its partitions until its session expires."""


class MemberState(IntEnum):
    STABLE = 0
    """It owns its target assignment, at its epoch."""
    UNREVOKED_PARTITIONS = 1
    """It must revoke partitions before it can advance to the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that other members have not released yet."""
    UNKNOWN = 127
    """Written by a future version. Such a member is fenced and rejoins."""

    @classmethod
    def of(cls, number: int) -> "MemberState":
        try:
            return cls(number)
        except ValueError:
            return cls.UNKNOWN


_NEW_VALUE = ConsumerMemberValue(
    instance_id=None,
    rack_id=None,
    client_id="",
    client_host="",
    subscribed_topic_names=(),
    subscribed_topic_regex="",
    rebalance_timeout_ms=-1,
    server_assignor=None,
)
_NEW_CURRENT = CurrentAssignmentValue(
    member_epoch=0, previous_member_epoch=-1, state=MemberState.STABLE, assigned={}, pending_revocation={}
)


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    member_id: str
    value: ConsumerMemberValue = _NEW_VALUE
    current: CurrentAssignmentValue = _NEW_CURRENT

    @property
    def instance_id(self) -> str | None:
        return self.value.instance_id

    @property
    def topic_names(self) -> tuple[str, ...]:
        """Sorted, each name once."""
        return self.value.subscribed_topic_names

    @property
    def topic_regex(self) -> str:
        """Empty if there is none."""
        return self.value.subscribed_topic_regex or ""

    @property
    def uses_classic_protocol(self) -> bool:
        return self.value.classic is not None

    @property
    def epoch(self) -> int:
        return self.current.member_epoch

    @property
    def previous_epoch(self) -> int:
        return self.current.previous_member_epoch

    @property
    def state(self) -> int:
        """A MemberState."""
        return self.current.state

    @property
    def assigned(self) -> EpochedAssignment:
        return self.current.assigned

    @property
    def pending_revocation(self) -> EpochedAssignment:
        return self.current.pending_revocation

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        current = self.current
        return current.state == MemberState.STABLE and current.member_epoch == assignment_epoch

    def assignment_epoch_of(self, topic_id: UUID, partition: int) -> int | None:
        """The epoch at which a partition was assigned to the member. Returns None if it does not own it."""
        for assignment in (self.current.assigned, self.current.pending_revocation):
            epoch = assignment.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None

    def with_value(self, value: ConsumerMemberValue) -> "ConsumerMember":
        return ConsumerMember(self.member_id, value, self.current)

    def with_current(self, current: CurrentAssignmentValue) -> "ConsumerMember":
        return ConsumerMember(self.member_id, self.value, current)

    def at_epoch(
        self,
        epoch: int,
        state: int,
        assigned: EpochedAssignment,
        pending_revocation: EpochedAssignment,
    ) -> "ConsumerMember":
        """The member one step further. Its epoch becomes the previous epoch."""
        return self.with_current(
            CurrentAssignmentValue(epoch, self.current.member_epoch, state, assigned, pending_revocation)
        )

    def leaving_for_a_while(self) -> "ConsumerMember":
        """A static member that leaves temporarily.

        If it rejoins under another id, it owns from epoch 0 on.
        """
        assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in self.assigned.items()}
        return self.with_current(
            replace(self.current, member_epoch=STATIC_LEAVE_EPOCH, assigned=assigned, pending_revocation={})
        )

    def replaced_by(self, member_id: str) -> "ConsumerMember":
        """The static member that replaces this one."""
        current = replace(self.current, member_epoch=0, previous_member_epoch=0)
        return ConsumerMember(member_id, self.value, current)


def topic_names_of(names: Iterable[str]) -> tuple[str, ...]:
    """Subscribed names in the form of the records."""
    return tuple(sorted(set(names)))
