"""A member of a classic group: its protocols, its assignment, and the responses it waits for."""

from collections.abc import Set
from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.group.records import ClassicMemberValue
from barnabas.wire import Reply

if TYPE_CHECKING:
    from barnabas.runtime.timers import Action, Key

Protocols = tuple[tuple[str, bytes], ...]
"""Name and metadata, the preferred protocol first. Names are unique."""

NO_ASSIGNMENT = b""


class ClassicMember:
    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = NO_ASSIGNMENT,
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.session_timeout_ms: int = session_timeout_ms
        self.protocol_type: str = protocol_type
        self.protocols: Protocols = protocols
        self.assignment: bytes = assignment
        self.awaiting_join: Deferred[Reply] | None = None
        """Set only by the group, which counts waiting members."""
        self.awaiting_sync: Deferred[Reply] | None = None
        self.is_new: bool = False
        """Has not completed a join yet: it does not know its member id, and cannot send heartbeats."""
        self.session: tuple[Key, Action] | None = None
        """The session's deadline and its action, kept so that a heartbeat creates no objects."""

    @classmethod
    def from_value(cls, value: ClassicMemberValue, protocol_type: str, protocol: str) -> "ClassicMember":
        """Returns a member from its record in the log, which has only the selected protocol."""
        return cls(
            member_id=value.member_id,
            group_instance_id=value.group_instance_id,
            client_id=value.client_id,
            client_host=value.client_host,
            # Records written before Kafka 0.10.1 have no rebalance timeout.
            rebalance_timeout_ms=(
                value.session_timeout_ms if value.rebalance_timeout_ms == -1 else value.rebalance_timeout_ms
            ),
            session_timeout_ms=value.session_timeout_ms,
            protocol_type=protocol_type,
            protocols=((protocol, value.subscription),),
            assignment=value.assignment,
        )

    def is_as_written(self, value: ClassicMemberValue, protocol: str) -> bool:
        """Whether its record has nothing new but the assignment: so for every record of a live group."""
        return (
            (protocol, value.subscription) in self.protocols
            and self.session_timeout_ms == value.session_timeout_ms
            and self.rebalance_timeout_ms == value.rebalance_timeout_ms
            and self.group_instance_id == value.group_instance_id
            and (self.client_id, self.client_host) == (value.client_id, value.client_host)
        )

    def as_value(self, protocol: str, assignment: bytes) -> ClassicMemberValue:
        return ClassicMemberValue(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            subscription=self.metadata_for(protocol),
            assignment=assignment,
        )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        return self.awaiting_join is not None

    @property
    def is_awaiting_sync(self) -> bool:
        return self.awaiting_sync is not None

    @property
    def protocol_names(self) -> list[str]:
        return [name for name, _ in self.protocols]

    def metadata_for(self, protocol: str) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise AssertionError(f"member {self.member_id} does not support protocol {protocol}")

    def vote(self, candidates: Set[str]) -> str:
        """Returns the preferred protocol among those that all members support."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise AssertionError(f"member {self.member_id} supports none of {sorted(candidates)}")

    def has_satisfied_heartbeat(self) -> bool:
        """A member that waits for a response need not send heartbeats. New members expire nevertheless."""
        return not self.is_new and (self.is_awaiting_join or self.is_awaiting_sync)
