"""The request and the response inside of an envelope (`wire.envelope`): complete ones, with their headers."""

import struct
from functools import cache
from io import BytesIO
from typing import Any

from kio.index import load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from barnabas.base.errors import InvalidRequest


@cache
def _writer(entity: Any) -> Any:
    return entity_writer(entity)


@cache
def _reader(entity: Any) -> Any:
    return entity_reader(entity)


def with_other_body(frame: memoryview, position: int, body: Any) -> bytes:
    """The request in `frame`, whose body begins at `position`, with the header it has and another body."""
    entity: Any = type(body)
    buffer = BytesIO()
    buffer.write(frame[:position])
    _writer(entity)(buffer, body)
    return buffer.getvalue()


def embedded_body(api_key: int, version: int, data: bytes) -> Any:
    """The body of a response, in its own version. Raises InvalidRequest if it is malformed."""
    entity: Any = load_response_schema(api_key, version)
    view = memoryview(data).toreadonly()
    try:
        _, position = _reader(entity.__header_schema__)(view, 0)
        body, _ = _reader(entity)(view, position)
    except (SerialError, ValueError, KeyError, struct.error) as error:
        raise InvalidRequest(f"Malformed response of the controller: {error}") from error
    return body
