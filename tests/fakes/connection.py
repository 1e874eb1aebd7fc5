"""A connection without a socket: what handlers and stages read of one, and how it was closed."""

from collections.abc import Callable

from barnabas.base.principal import ANONYMOUS, Principal
from barnabas.network.connection import Peer
from barnabas.network.responses import Parts, Pending


class FakeConnection:
    def __init__(self) -> None:
        self.peer: Peer = Peer("localhost", 1, "PLAINTEXT")
        self.principal: Principal = ANONYMOUS
        self.shortcut: Callable[[memoryview], Parts | Pending | None] | None = None
        self.last_active: float = 0.0
        self.is_closed: bool = False
        self.closed: list[tuple[str, bool]] = []
        """The reason of each close, and whether it was the client's fault."""
        self.on_close: Callable[[], None] = lambda: None

    @property
    def reason(self) -> str:
        """Of the last close."""
        return self.closed[-1][0] if self.closed else ""

    def close(self, reason: str, *, is_fault: bool = False) -> None:
        self.is_closed = True
        self.closed.append((reason, is_fault))
        self.on_close()

    def __repr__(self) -> str:
        return "localhost:1"
