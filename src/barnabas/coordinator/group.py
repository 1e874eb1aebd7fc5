"""What every kind of group can tell and allow, for those who need not know the kind: offsets, lists."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from barnabas.coordinator.group_records import CommittedOffset, GroupRecord

CLASSIC = "classic"
CONSUMER = "consumer"

CommitValidator = Callable[[str, int], None]
"""Raises for a topic and partition whose offset the member may not commit (StaleMemberEpoch)."""


def _allow_every_partition(topic: str, partition: int) -> None:
    """The member was checked as a whole."""


ALLOW: CommitValidator = _allow_every_partition


class ExpirationCondition(NamedTuple):
    """When an offset of a group without members has outlived `offsets.retention.minutes`.

    `base_timestamp_ms(offset)` is the time the retention counts from: the commit's, or the moment at which
    the group became empty.
    """

    base_timestamp_ms: Callable[[CommittedOffset], int]

    def is_expired(self, offset: CommittedOffset, now_ms: int, retention_ms: int) -> bool:
        if offset.expire_timestamp_ms >= 0:
            # Only clients from before OffsetCommit version 5 set a time of their own.
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
        """As ListGroups prints it: "Stable", "Empty", "PreparingRebalance", "Reconciling" ..."""
        ...

    @property
    def protocol_type(self) -> str:
        """As ListGroups prints it: "consumer", "connect", or "" when it is not known."""
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
        """What deletes the group itself; its offsets have tombstones of their own."""
        ...

    def expiration_condition(self) -> ExpirationCondition | None:
        """None: offsets of this group do not expire now."""
        ...
