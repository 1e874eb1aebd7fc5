"""The client's side of Produce, versions 3 to 12, by hand. Batches are sent without a copy.

Version 13 names topics by their ids. A producer that creates topics has no ids yet.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.wire.outgoing_request import Buffer, OutgoingRequest
from barnabas.wire.primitives import compact_string, legacy_string, write_unsigned_varint
from barnabas.wire.response_reader import ResponseReader

PRODUCE = 0
OLDEST, NEWEST = 3, 12
BEFORE_IMPLICIT_ADD = 11
"""The newest version that does not take a partition into the transaction by itself (KIP-890)."""
_FLEXIBLE, _LOG_STARTS, _MESSAGES = 9, 5, 8

_SETTINGS, _INT, _LONG = struct.Struct(">hi"), struct.Struct(">i"), struct.Struct(">q")
_RESULT = struct.Struct(">ihqq")


class RecordBatch(NamedTuple):
    """One batch for one partition, in one or more buffers."""

    topic: str
    partition: int
    parts: Sequence[Buffer]


class Produced(NamedTuple):
    """The result for the batch of one partition."""

    topic: str
    partition: int
    error_code: int
    message: str | None
    base_offset: int
    log_start_offset: int


def produce_request(
    version: int, batches: Iterable[RecordBatch], *, transactional_id: str | None, acks: int, timeout_ms: int
) -> OutgoingRequest:
    """`batches` has at most one batch for each partition: brokers refuse more."""
    is_flexible = version >= _FLEXIBLE
    string, tags = (compact_string, b"\x00") if is_flexible else (legacy_string, b"")
    topics: dict[str, list[RecordBatch]] = {}
    for batch in batches:
        topics.setdefault(batch.topic, []).append(batch)
    head = string(transactional_id) + _SETTINGS.pack(acks, timeout_ms) + _count(len(topics), is_flexible)
    parts: list[Buffer] = []
    for topic, found in topics.items():
        head += string(topic) + _count(len(found), is_flexible)
        for batch in found:
            head += _INT.pack(batch.partition) + _count(sum(map(len, batch.parts)), is_flexible)
            parts += [head, *batch.parts]
            head = tags
        head += tags
    return OutgoingRequest("produce", PRODUCE, version, is_flexible, [*parts, head + tags])


def parse_produced(version: int, response: memoryview) -> list[Produced]:
    """Raises one of response_reader.MALFORMED if the bytes are not a response."""
    reader = ResponseReader(response, is_flexible=version >= _FLEXIBLE)
    found = []
    for _ in range(reader.count()):
        topic = reader.text() or ""
        found += [_parse_partition(version, reader, topic) for _ in range(reader.count())]
        reader.tags()
    return found


def _parse_partition(version: int, reader: ResponseReader, topic: str) -> Produced:
    partition, error_code, base_offset, _append_time = reader.unpack(_RESULT)
    log_start_offset = reader.unpack(_LONG)[0] if version >= _LOG_STARTS else -1
    message = None
    if version >= _MESSAGES:
        details = []
        for _ in range(reader.count()):
            reader.unpack(_INT)
            details.append(reader.text())
            reader.tags()
        message = reader.text() or next((each for each in details if each), None)
    reader.tags()
    return Produced(topic, partition, error_code, message, base_offset, log_start_offset)


def _count(value: int, is_flexible: bool) -> bytes:
    return write_unsigned_varint(value + 1) if is_flexible else _INT.pack(value)
