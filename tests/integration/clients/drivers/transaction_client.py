"""A transactional producer behind one interface, whatever library it comes from.

Every call returns when the broker has answered. `ProducerFenced` is the end of a producer: another one has
its transactional id, or the broker has given its transaction up. `MustAbort` ends the transaction only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.integration.clients.drivers.group_client import Offsets
from tests.integration.clients.messages import Message


class TransactionFailed(Exception):
    """The text is the client's own."""


class ProducerFenced(TransactionFailed):
    """Fatal: this producer can do nothing more."""


class MustAbort(TransactionFailed):
    """The transaction cannot be committed; the producer can begin another one."""


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    id: str
    timeout_ms: int = 60_000
    codec: str = "none"
    is_two_phase: bool = False
    """Its transactions have no timeout (KIP-939); with Java's client only."""


class TransactionalProducer(Protocol):
    """All but the constructor raise TransactionFailed."""

    def init(self) -> None:
        """Get a producer id. The last producer of this transactional id is fenced, what it began aborted."""
        ...

    def begin(self) -> None: ...

    def send(self, topic: str, messages: Sequence[Message]) -> None:
        """Send to the partitions that the messages name; they are in the log when it returns."""
        ...

    def send_offsets(self, offsets: Offsets, consumer: object) -> None:
        """As part of the transaction; `consumer` is what `GroupClient.membership` gave, or the group's name.

        With the name alone nothing of the member is checked.
        """
        ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def abandon(self) -> None:
        """Go away without a word: an open transaction stays open."""
        ...
