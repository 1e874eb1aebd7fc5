"""Requests to a broker in this process, without a socket: bytes to its dispatcher, bytes back.

What is skipped is the connection; parsing, handlers, coordinators and logs are the broker's own.
"""

import asyncio
from typing import Any, cast

from tests.integration.clients.raw import decode, encode

from barnabas.base.principal import ANONYMOUS, Principal
from barnabas.base.ranges import FileRange
from barnabas.broker.broker import Broker
from barnabas.network.connection import Connection, Peer
from barnabas.network.responses import Parts, Pending

PATIENCE = 60.0
"""Seconds until an answer that does not come is a failure."""


class Unanswered(Exception):
    """The broker closed the connection, or never answered."""


class DirectClient:
    def __init__(self, broker: Broker) -> None:
        self._broker: Broker = broker
        self._last_id: int = 0
        # Read by handlers as that of any connection.
        self.peer: Peer = Peer("127.0.0.1", 1, broker.config.listeners[0].name)
        self.principal: Principal = ANONYMOUS
        self.shortcut: Any = None
        self.is_closed: bool = False
        self._reason: str = ""

    def close(self, reason: str = "", *, is_fault: bool = False) -> None:
        self.is_closed, self._reason = True, reason

    async def call(self, api: str, version: int, **fields: object) -> Any:
        self._last_id += 1
        frame = memoryview(encode(api, version, self._last_id, **fields)).toreadonly()
        answer = self._broker._dispatcher.on_frame(cast(Connection, self), frame)
        if isinstance(answer, Pending):
            answer = await self._completed(api, answer)
        if answer is None or self.is_closed:
            self.is_closed = False
            raise Unanswered(f"{api}: {self._reason}")
        return decode(api, version, _joined(answer)[4:])

    async def _completed(self, api: str, pending: Pending) -> Parts:
        done = asyncio.Event()
        pending.when_complete(done.set)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not pending.is_done:
            done.clear()
            try:
                await asyncio.wait_for(done.wait(), 1.0)
            except TimeoutError:
                if self.is_closed or asyncio.get_running_loop().time() > deadline:
                    self.is_closed = False
                    raise Unanswered(f"{api}: {self._reason or 'no answer'}") from None
        return pending.parts


def _joined(parts: Parts) -> bytes:
    return b"".join(
        cast(Any, part.file).read_at(part.position, part.size) if isinstance(part, FileRange) else bytes(part)
        for part in parts
    )
