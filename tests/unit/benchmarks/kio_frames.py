"""Requests and answers of the generators as kio reads and writes them."""

import io
from collections.abc import Callable
from typing import Any

from benchmarks import protocol
from kio.serial import entity_reader, entity_writer

HEADER = b"\x00\x00\x00\x01\x00"


def parse(kind: type[Any], request: bytes | bytearray) -> Any:
    """Check length and header, then let kio read the body to its last byte."""
    assert int.from_bytes(request[:4], "big") == len(request) - 4
    header = 2 + 2 + 4 + 2 + len(protocol.CLIENT_ID) + 1
    body = memoryview(bytes(request))[4 + header :].toreadonly()
    reader: Callable[..., Any] = entity_reader(kind)
    entity, end = reader(body, 0)
    assert end == len(body)
    return entity


def response(entity: Any) -> bytes:
    sink = io.BytesIO()
    entity_writer(type(entity))(sink, entity)
    return HEADER + sink.getvalue()
