"""Produce, versions 3 to 12, encoded and parsed by hand; batches are sent from where they lie.

Version 13 names topics by their ids, which a producer that creates topics on its way has no use for.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.client.connection import Connection, RawRequest
from barnabas.client.errors import Unsupported
from barnabas.client.outgoing import Buffer
from barnabas.spark.wire.answer_reader import AnswerReader
from barnabas.wire.primitives import compact_string, legacy_string, write_unsigned_varint

PRODUCE = 0
OLDEST, NEWEST = 3, 12
BEFORE_IMPLICIT_ADD = 11
"""The newest version that does not take a partition into the transaction by itself (KIP-890)."""
_FLEXIBLE, _LOG_STARTS, _MESSAGES = 9, 5, 8

_SETTINGS, _INT, _LONG = struct.Struct(">hi"), struct.Struct(">i"), struct.Struct(">q")
_RESULT = struct.Struct(">ihqq")


class RecordBatch(NamedTuple):
    """One batch for one partition, in the parts it lies in."""

    topic: str
    partition: int
    parts: Sequence[Buffer]


class Produced(NamedTuple):
    """What became of a partition's batch."""

    topic: str
    partition: int
    error_code: int
    message: str | None
    base_offset: int
    log_start_offset: int


def version_for(connection: Connection, *, newest: int = NEWEST) -> int:
    """The newest version both sides know. Raises Unsupported."""
    served = connection.served.get(PRODUCE)
    if served is None or served.lowest > newest or served.highest < OLDEST:
        raise Unsupported(f"{connection.address} serves no version of PRODUCE between {OLDEST} and {newest}")
    return min(newest, served.highest)


def produce_request(
    version: int, batches: Iterable[RecordBatch], *, transactional_id: str | None, acks: int, timeout_ms: int
) -> RawRequest:
    """At most one batch of a partition, as brokers want it."""
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
    return RawRequest("produce", PRODUCE, version, is_flexible, [*parts, head + tags])


def parse_produced(version: int, answer: memoryview) -> list[Produced]:
    """Raises one of answer_reader.MALFORMED for bytes that are no such answer."""
    reader = AnswerReader(answer, is_flexible=version >= _FLEXIBLE)
    found = []
    for _ in range(reader.count()):
        topic = reader.text() or ""
        found += [_parse_partition(version, reader, topic) for _ in range(reader.count())]
        reader.tags()
    return found


def _parse_partition(version: int, reader: AnswerReader, topic: str) -> Produced:
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
