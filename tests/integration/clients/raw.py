"""A client of bare sockets, for what no client library does: odd frames, old versions, bad records.

Requests are written as plain values and turned into kio's classes: `call("fetch", 12, max_wait=0, ...)`.
Fields that a version does not have are left out, so that one description serves all versions.
"""

import dataclasses
import datetime as dt
import functools
import socket
import struct
import typing
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from types import TracebackType, UnionType
from typing import Any, Self

from kio.serial import entity_reader, entity_writer
from tests.patience import PATIENCE

_LENGTH = struct.Struct(">i")
_OWN_CLASSES = {("describe_transactions", "response"): "barnabas.wire.transaction_states"}
"""Where kio cannot read what brokers send: the module with a class that can."""


class RawClient:
    def __init__(self, port: int, timeout: float = PATIENCE) -> None:
        self._socket: socket.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._last_id: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def call(self, api: str, version: int, **fields: object) -> Any:
        """Send a request and return its response; asserts that the correlation id is its own."""
        self.send(api, version, **fields)
        return self.receive(api, version, self._last_id)

    def send(self, api: str, version: int, **fields: object) -> int:
        """Send a request, return its correlation id."""
        self._last_id += 1
        self.send_bytes(frame(encode(api, version, self._last_id, **fields)))
        return self._last_id

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self, api: str, version: int, correlation_id: int | None = None) -> Any:
        answer = self.receive_frame()
        if correlation_id is not None:
            assert _LENGTH.unpack_from(answer) == (correlation_id,)
        return decode(api, version, answer)

    def receive_frame(self) -> bytes:
        (size,) = _LENGTH.unpack(self._exactly(4))
        return self._exactly(size)

    def is_closed_by_the_broker(self) -> bool:
        """True when the connection ends without another answer; False when there is one."""
        try:
            return not self._socket.recv(1)
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionError("the broker closed the connection")
            parts += part
        return bytes(parts)


def frame(payload: bytes) -> bytes:
    return _LENGTH.pack(len(payload)) + payload


def encode(api: str, version: int, correlation_id: int, **fields: object) -> bytes:
    """Header and body of a request."""
    request = _build(_class(api, version, "request"), fields)
    header = request.__header_schema__(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=correlation_id,
        client_id="raw",
    )
    buffer = BytesIO()
    _writer(request.__header_schema__)(buffer, header)
    _writer(_class(api, version, "request"))(buffer, request)
    return buffer.getvalue()


def decode(api: str, version: int, answer: bytes) -> Any:
    response = _class(api, version, "response")
    _, position = _reader(response.__header_schema__)(answer, 0)
    entity, end = _reader(response)(answer, position)
    assert end == len(answer) - position or end == len(answer), "bytes behind the response"
    return entity


@functools.cache
def _class(api: str, version: int, part: str) -> Any:
    own = _OWN_CLASSES.get((api, part))
    module = import_module(own or f"kio.schema.{api}.v{version}.{part}")
    name = "".join(word.capitalize() for word in (*api.split("_"), part))
    return getattr(module, name)


@functools.cache
def _writer(entity: Any) -> Any:
    return entity_writer(entity)


@functools.cache
def _reader(entity: Any) -> Any:
    return entity_reader(entity)


@functools.cache
def _hints(entity: Any) -> dict[str, Any]:
    return typing.get_type_hints(entity)


def _build(entity: Any, values: Mapping[str, object]) -> Any:
    hints = _hints(entity)
    arguments = {
        field.name: _value(hints[field.name], field.metadata.get("kafka_type", ""), values[field.name])
        for field in dataclasses.fields(entity)
        if field.name in values
    }
    return entity(**arguments)


def _value(hint: Any, kafka_type: str, value: Any) -> Any:
    if kafka_type.startswith("timedelta"):
        return dt.timedelta(milliseconds=value)
    nested = _nested(hint)
    if nested is None or value is None:
        return tuple(value) if isinstance(value, list) else value
    if isinstance(value, list):
        return tuple(_build(nested, each) for each in value)
    return _build(nested, value)


def _nested(hint: Any) -> Any:
    """The entity class in a type such as `tuple[FetchTopic, ...] | None`."""
    if dataclasses.is_dataclass(hint):
        return hint
    if isinstance(hint, UnionType) or typing.get_origin(hint) is not None:
        for part in typing.get_args(hint):
            if (found := _nested(part)) is not None:
                return found
    return None
