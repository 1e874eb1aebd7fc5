"""The interface of every kind of group, for callers that need not know the kind: offsets, lists."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from barnabas.group.records import CommittedOffset, GroupRecord

CLASSIC = "classic"
CONSUMER = "consumer"

CommitValidator = Callable[[str, int], None]
"""Raises for a topic and partition whose offset the member may not commit (StaleMemberEpoch)."""


def _allow_every_partition(topic: str, partition: int) -> None:
    """Raise for no partition: the member was already validated."""


ALLOW: CommitValidator = _allow_every_partition


class ExpirationCondition(NamedTuple):
    """When an offset of a group without members exceeds `offsets.retention.minutes`.

    `base_timestamp_ms(offset)` is the start of the retention: the time of the commit, or the time at which
    the group became empty.
    """

    base_timestamp_ms: Callable[[CommittedOffset], int]

    def is_expired(self, offset: CommittedOffset, now_ms: int, retention_ms: int) -> bool:
        if offset.expire_timestamp_ms >= 0:
            # Only clients below OffsetCommit version 5 set a retention of their own.
            return now_ms >= offset.expire_timestamp_ms
        return now_ms - self.base_timestamp_ms(offset) >= retention_ms


class Group(Protocol):
    group_id: str

    @property
    def type(self) -> str:
        """CLASSIC or CONSUMER."""
        ...

    @property
    def state_name(self) -> str:
        """The name in ListGroups: "Stable", "Empty", "PreparingRebalance", "Reconciling" ..."""
        ...

    @property
    def protocol_type(self) -> str:
        """The name in ListGroups: "consumer", "connect", or "" if it is unknown."""
        ...

    @property
    def is_empty(self) -> bool: ...

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        version: int,
        *,
        is_transactional: bool,
    ) -> CommitValidator: ...

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None: ...

    def validate_offset_delete(self) -> None: ...

    def validate_delete(self) -> None: ...

    def is_subscribed_to(self, topic: str) -> bool: ...

    def tombstones(self) -> Sequence[GroupRecord]:
        """The tombstones of the group itself. Its offsets have their own tombstones."""
        ...

    def expiration_condition(self) -> ExpirationCondition | None:
        """Returns None if the offsets of this group do not expire now."""
        ...
