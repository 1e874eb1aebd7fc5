"""One request on its way through the pipeline, as its stages see it."""

from typing import Any

from barnabas.base.errors import KafkaError
from barnabas.base.principal import Principal
from barnabas.handlers.registry import APIS, AS_IT_CAME, FETCH, PRODUCE
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts
from barnabas.wire import parse_request
from barnabas.wire.fetch import parse_fetch
from barnabas.wire.header import RequestHeader, client_id_of, parse_header, skip_tags
from barnabas.wire.produce import parse_produce
from barnabas.wire.schemas import request_schema


class Exchange:
    """A request and, once it is complete, its response. Times are seconds of the pipeline's clock."""

    __slots__ = (
        "begun",
        "completed",
        "connection",
        "frame",
        "handled",
        "header",
        "is_disconnected",
        "notes",
        "response",
        "sent",
    )

    def __init__(self, connection: Connection, frame: memoryview, now: float) -> None:
        self.connection: Connection = connection
        self.frame: memoryview = frame
        """The request without its length. It is valid in `before` only: the buffer is used again."""
        self.header: RequestHeader | None = _header_of(frame)
        """None if it is malformed: the connection is closed then."""
        self.begun: float = now
        """When the request was taken from the connection. It was received at `connection.last_active`."""
        self.handled: float = now
        """When its handler returned. Up to here it kept the event loop, unless a stage delayed it."""
        self.completed: float = now
        """When the response was complete. Between `handled` and here it waited."""
        self.sent: float = now
        """When the socket had taken the last byte of the response."""
        self.response: Parts | None = None
        """From `after` on: what will be sent. None: nothing (acks=0, or the connection is closed)."""
        self.is_disconnected: bool = False
        """From `after` on: the connection was closed before the response was complete."""
        self.notes: dict[object, Any] = {}
        """What a stage remembers from `before` to `after`, by stage."""

    @property
    def api_key(self) -> int:
        """-1 if the header is malformed."""
        return -1 if self.header is None else self.header.api_key

    @property
    def principal(self) -> Principal:
        return self.connection.principal

    @property
    def client_id(self) -> str | None:
        """Valid in `before` only. Raises InvalidRequest if it is not UTF-8."""
        return None if self.header is None else client_id_of(self.frame)

    def body(self) -> Any:
        """The parsed request, in its own version. For stages that need it: parsing costs time.

        Valid in `before` only. Raises KafkaError if the request is malformed or its version is not supported.
        """
        header = self.header or parse_header(self.frame)
        key, version = header.api_key, header.version
        newest = version if key in AS_IT_CAME or key not in APIS else APIS[key].max_version
        has_tags = request_schema(key, version, newest).has_header_tags
        position = skip_tags(self.frame, header.end) if has_tags else header.end
        if key == PRODUCE:
            return parse_produce(version, self.frame, position)
        if key == FETCH:
            return parse_fetch(version, self.frame, position)
        return parse_request(key, version, newest, self.frame, position)[1]


def _header_of(frame: memoryview) -> RequestHeader | None:
    try:
        return parse_header(frame)
    except KafkaError:
        return None
