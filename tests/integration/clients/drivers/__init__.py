"""The Kafka clients behind one interface, so that one scenario is written once for all of them.

A driver keeps its producer and its consumer from the first use until `close`, as an application does: a
broker that restarts in between meets a client that has to reconnect.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from tests.integration.clients.messages import Message


class SendFailed(Exception):
    """The broker, or the client itself, refused a message. The text is the client's own."""


class Driver(Protocol):
    keeps_timestamps: ClassVar[bool]
    """Whether its producer lets the user choose a record's timestamp."""

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        """Send to the partitions that the messages name, wait for the acknowledgements; raises SendFailed."""
        ...

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Message]:
        """Exactly `count` messages from `offset` on."""
        ...

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset at or after the time, None when there is none."""
        ...

    def close(self) -> None: ...
