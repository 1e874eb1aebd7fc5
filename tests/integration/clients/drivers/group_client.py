"""A consumer of a group behind one interface, whatever library it comes from, and the words for its settings.

A `GroupClient` belongs to one thread (`member.py` gives it one). `Member`s are notified of rebalances by the
`Listener` that was given when the client was opened; it is called inside `poll` or `close`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from tests.integration.clients.messages import Message

Happening = Literal["assigned", "revoked", "lost"]


class Partition(NamedTuple):
    topic: str
    partition: int


class Committed(NamedTuple):
    offset: int
    metadata: str = ""


Offsets = Mapping[Partition, Committed]
Listener = Callable[[Happening, frozenset[Partition]], None]


class NoOffset(Exception):
    """There is no committed offset, and the settings do not say where to begin."""


class Fenced(Exception):
    """Another member has taken over: the instance id, the generation or the epoch is no longer ours."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    group: str
    reset: Literal["earliest", "latest", "none"] = "earliest"
    auto_commit_ms: int | None = None
    """None: only what the application commits."""
    session_ms: int = 10_000
    max_poll_ms: int = 300_000
    assignor: str = ""
    """range, roundrobin, sticky, cooperative-sticky; of the broker (new protocol): range, uniform."""
    instance: str | None = None
    metadata_ms: int = 300_000
    is_new: bool = False
    """The protocol of KIP-848, where the broker assigns."""
    commits_when_revoked: bool = False
    client_id: str = "member"


class GroupClient(Protocol):
    def subscribe(self, topics: Sequence[str]) -> None:
        """A name that begins with ^ is a regular expression, and alone."""
        ...

    def assign(self, partitions: Collection[Partition]) -> None: ...

    def poll(self, seconds: float) -> list[Message]:
        """Raises NoOffset, Fenced."""
        ...

    def assignment(self) -> frozenset[Partition]: ...

    def commit(self, offsets: Offsets | None = None) -> None:
        """Of what was polled, or these; done when it returns. Raises Fenced."""
        ...

    def commit_async(self, done: Callable[[BaseException | None], None]) -> None: ...

    def committed(self, partitions: Collection[Partition]) -> dict[Partition, Committed | None]: ...

    def position(self, partition: Partition) -> int: ...

    def seek(self, partition: Partition, offset: int) -> None: ...

    def seek_to_beginning(self, partition: Partition) -> None: ...

    def seek_to_end(self, partition: Partition) -> None: ...

    def offset_for_time(self, partition: Partition, timestamp: int) -> int | None: ...

    def pause(self, partitions: Collection[Partition]) -> None: ...

    def resume(self, partitions: Collection[Partition]) -> None: ...

    def membership(self) -> object:
        """For `TransactionalProducer.send_offsets` of the same library."""
        ...

    def close(self) -> None: ...
