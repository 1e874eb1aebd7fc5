"""A broker on a real socket that says what a test wrote down: for the client room and the tools.

`answers` gives the response of an API, named as kio names it, as plain fields: a mapping, or a function of
the request that returns one. `versions` says up to which version an API is offered; an API without an answer
is not offered at all. `raw` is said instead of every answer, before hanging up; `torn` sends every answer
byte by byte, with a `pause` after each.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BytesIO
from types import TracebackType
from typing import Any, Self

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from barnabas.wire import message_codec as codec

Fields = Mapping[str, object]
Answer = Fields | Callable[[Any], Fields]
_LENGTH = struct.Struct(">i")


class ScriptedBroker:
    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        *,
        versions: Mapping[str, int] | None = None,
        raw: bytes | None = None,
        torn: bool = False,
        pause: float = 0.0,
    ) -> None:
        self.requests: list[Any] = []
        """Every request but ApiVersions, in order."""
        self.connections: int = 0
        self._answers: dict[str, Answer] = {"metadata": self.itself, **(answers or {})}
        self._versions: Mapping[str, int] = versions or {}
        self._raw: bytes | None = raw
        self._torn: bool = torn
        self._pause: float = pause
        self._listener: socket.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def itself(self, request: Any = None) -> dict[str, object]:
        """Metadata of a cluster of this one broker, number 1, without topics."""
        node = {"node_id": 1, "host": "127.0.0.1", "port": self.port, "rack": None}
        return {"brokers": [node], "controller_id": 1, "cluster_id": "scripted", "topics": []}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            while head := stream.read(4):
                frame = stream.read(*_LENGTH.unpack(head))
                if self._raw is not None:
                    connection.sendall(self._raw)
                    return
                answer = self._answer(frame)
                for part in [answer[i : i + 1] for i in range(len(answer))] if self._torn else [answer]:
                    connection.sendall(part)
                    time.sleep(self._pause)

    def _answer(self, frame: bytes) -> bytes:
        key, version, correlation_id = struct.unpack_from(">hhi", frame)
        if key == codec.api_key("api_versions"):
            return self._api_versions(version, correlation_id)
        api = next(name for name in self._answers if codec.api_key(name) == key)
        entity = codec._class(api, version, "request")
        _, size = entity_reader(entity.__header_schema__)(frame, 0)
        request, _ = entity_reader(entity)(frame, size)
        self.requests.append(request)
        answer = self._answers[api]
        return _frame(api, version, correlation_id, answer(request) if callable(answer) else answer)

    def _api_versions(self, version: int, correlation_id: int) -> bytes:
        if version > self._versions.get("api_versions", 4):
            return _frame("api_versions", 0, correlation_id, {"error_code": 35})
        offered = {api: codec.known_versions(api) for api in self._answers}
        keys = [
            {
                "api_key": codec.api_key(api),
                "min_version": min(known.lowest, self._versions.get(api, known.highest)),
                "max_version": self._versions.get(api, known.highest),
            }
            for api, known in offered.items()
        ]
        return _frame("api_versions", version, correlation_id, {"api_keys": keys})


def _frame(api: str, version: int, correlation_id: int, fields: Fields) -> bytes:
    entity = codec._class(api, version, "response")
    body = BytesIO()
    header = entity.__header_schema__(correlation_id=correlation_id)
    entity_writer(entity.__header_schema__)(body, header)
    entity_writer(entity)(body, codec._build(entity, _with_errors(fields)))
    return _LENGTH.pack(len(body.getvalue())) + body.getvalue()


def _with_errors(value: Any) -> Any:
    """Error codes may be written as numbers."""
    if isinstance(value, Mapping):
        return {
            key: ErrorCode(each) if key == "error_code" else _with_errors(each) for key, each in value.items()
        }
    return [_with_errors(each) for each in value] if isinstance(value, list) else value
