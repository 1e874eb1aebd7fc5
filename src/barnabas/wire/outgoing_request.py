"""A request of a client or a broker to another broker: its encoded body, and the frame around it."""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from barnabas.wire.primitives import legacy_string

Buffer: TypeAlias = bytes | bytearray | memoryview

_FRAME_HEAD = struct.Struct(">ihhi")


class OutgoingRequest(NamedTuple):
    """A request with an encoded body, in parts that are sent in order."""

    api: str
    """The name in kio, for error messages."""
    key: int
    version: int
    is_flexible: bool
    parts: Sequence[Buffer]


class RequestBuilder(NamedTuple):
    """A request whose version is decided when the connection knows what the broker serves."""

    api: str
    key: int
    oldest: int
    newest: int
    build: Callable[[int], OutgoingRequest]
    """Encodes the request for a version from `oldest` to `newest`."""
    is_advertised: bool = True
    """False for an API between brokers: ApiVersions does not name it, and every broker serves `newest`."""


def frame_head(request: OutgoingRequest, correlation_id: int, client_id: str) -> bytes:
    """The length of the frame and the request header: what precedes the parts of the body."""
    client = legacy_string(client_id) + (b"\x00" if request.is_flexible else b"")
    size = _FRAME_HEAD.size - 4 + len(client) + sum(map(len, request.parts))
    return _FRAME_HEAD.pack(size, request.key, request.version, correlation_id) + client
