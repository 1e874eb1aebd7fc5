"""Validation of offset commits, fetches and deletions of a classic group, and offset expiration."""

from abc import ABC, abstractmethod

from barnabas.base.errors import (
    CoordinatorNotAvailable,
    GroupIdNotFound,
    IllegalGeneration,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.group.classic.group_state import COMPLETING_REBALANCE, DEAD, EMPTY, STABLE, ClassicState
from barnabas.group.classic.member import ClassicMember
from barnabas.group.group import ALLOW, CommitValidator, ExpirationCondition
from barnabas.group.records import CommittedOffset


class OffsetRules(ABC):
    """The part of `ClassicGroup` that offsets use."""

    __slots__ = ()

    group_id: str
    state: ClassicState
    generation: int
    state_timestamp_ms: int | None
    subscribed_topics: frozenset[str] | None

    @property
    @abstractmethod
    def protocol_type(self) -> str: ...

    @property
    @abstractmethod
    def uses_consumer_protocol(self) -> bool: ...

    @abstractmethod
    def validate_member(self, member_id: str, group_instance_id: str | None) -> ClassicMember: ...

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        version: int,
        *,
        is_transactional: bool,
    ) -> CommitValidator:
        if self.state is DEAD:
            raise CoordinatorNotAvailable(f"Group {self.group_id} is dead.")
        if generation_or_epoch < 0 and self.state is EMPTY:
            # The admin client, or a consumer that assigns partitions to itself.
            return ALLOW
        if generation_or_epoch >= 0 or member_id or group_instance_id is not None:
            self.validate_member(member_id, group_instance_id)
            if generation_or_epoch != self.generation:
                raise IllegalGeneration(
                    f"Group {self.group_id} is at generation {self.generation}, not {generation_or_epoch}"
                )
        elif not is_transactional and self.state is not EMPTY:
            # Old transactional commits carry no member id, so it is required of other commits only.
            raise UnknownMemberId(f"Group {self.group_id} has members, but the commit has no member id")
        if not is_transactional and self.state is COMPLETING_REBALANCE:
            raise RebalanceInProgress(f"Group {self.group_id} waits for its assignment")
        return ALLOW

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        self._check_not_dead()

    def validate_offset_delete(self) -> None:
        """Raise if offsets may not be deleted. Offsets of subscribed topics are refused one by one."""
        self._check_not_dead()
        if self.state is not EMPTY and not self.uses_consumer_protocol:
            raise NonEmptyGroup(f"Group {self.group_id} has members.")

    def validate_delete(self) -> None:
        self._check_not_dead()
        if self.state is not EMPTY:
            raise NonEmptyGroup(f"Group {self.group_id} has members.")

    def _check_not_dead(self) -> None:
        if self.state is DEAD:
            raise GroupIdNotFound(f"Group {self.group_id} is dead.")

    def is_subscribed_to(self, topic: str) -> bool:
        """A group of consumers whose topics are unknown may be subscribed to any topic."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def expiration_condition(self) -> ExpirationCondition | None:
        if not self.protocol_type:
            # No member ever joined: the last commit of the standalone consumer counts.
            return ExpirationCondition(_commit_timestamp_ms)
        if self.state is EMPTY:
            return ExpirationCondition(self._emptied_timestamp_ms)
        if self.state is STABLE and self.uses_consumer_protocol and self.subscribed_topics is not None:
            # Offsets of topics without a subscription. The caller leaves out the others.
            return ExpirationCondition(_commit_timestamp_ms)
        return None

    def _emptied_timestamp_ms(self, offset: CommittedOffset) -> int:
        return offset.commit_timestamp_ms if self.state_timestamp_ms is None else self.state_timestamp_ms


def _commit_timestamp_ms(offset: CommittedOffset) -> int:
    return offset.commit_timestamp_ms
