"""Fetch of one partition, versions 4 to 17, encoded and parsed by hand.

From version 13 on topics are named by their ids; sessions are not used. The records are handed out as a view
of the answer, so that the bytes a socket received are the bytes that are decoded.
"""

import struct
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from barnabas.client.connection import Connection, RawRequest
from barnabas.client.errors import Unsupported
from barnabas.spark.wire.answer_reader import AnswerReader
from barnabas.wire.primitives import compact_string, legacy_string

FETCH = 1
OLDEST, NEWEST = 4, 17
BY_ID = 13
"""The first version with ids of topics."""
_FLEXIBLE, _REPLICA_IN_TAGS, _RACKS, _EPOCHS, _SESSIONS, _LOG_STARTS = 12, 15, 11, 9, 7, 5

_NOBODY = struct.pack(">i", -1)
_NO_SESSION = struct.pack(">ii", 0, -1)
_LIMITS = struct.Struct(">iiib")
_ONE_LEGACY, _NONE_LEGACY, _ONE_COMPACT, _NONE_COMPACT = (
    struct.pack(">i", 1),
    struct.pack(">i", 0),
    b"\x02",
    b"\x01",
)
_INT, _LONG, _STATUS = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">ihi")
_PARTITION, _ABORTED = struct.Struct(">ihqq"), struct.Struct(">qq")
_NO_RECORDS = memoryview(b"")


class FetchTarget(NamedTuple):
    """Which partition, and how much of it."""

    topic: str
    topic_id: UUID | None
    """None where the broker told none: versions before 13 are asked then."""
    partition: int
    offset: int
    isolation: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int
    rack: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer for the one partition that was asked for."""

    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[tuple[int, int], ...]
    """Producer id and first offset of transactions that were aborted among the records."""
    preferred_read_replica: int
    records: memoryview
    throttle_ms: int


def version_for(connection: Connection, topic_id: UUID | None) -> int:
    """The newest version both sides know. Raises Unsupported."""
    served = connection.served.get(FETCH)
    newest = NEWEST if topic_id is not None else BY_ID - 1
    if served is None or served.lowest > newest or served.highest < OLDEST:
        raise Unsupported(f"{connection.address} serves no version of FETCH between {OLDEST} and {newest}")
    return min(newest, served.highest)


def fetch_request(version: int, target: FetchTarget) -> RawRequest:
    is_flexible = version >= _FLEXIBLE
    one, none = (_ONE_COMPACT, _NONE_COMPACT) if is_flexible else (_ONE_LEGACY, _NONE_LEGACY)
    string, tags = (compact_string, b"\x00") if is_flexible else (legacy_string, b"")
    parts = [b"" if version >= _REPLICA_IN_TAGS else _NOBODY]
    parts.append(_LIMITS.pack(target.max_wait_ms, target.min_bytes, target.max_bytes, target.isolation))
    if version >= _SESSIONS:
        parts.append(_NO_SESSION)
    if version >= BY_ID and target.topic_id is not None:
        name = target.topic_id.bytes
    else:
        name = string(target.topic)
    parts += [one, name, one, _partition(version, target), tags, tags]
    if version >= _SESSIONS:
        parts.append(none)
    if version >= _RACKS:
        parts.append(string(target.rack))
    return RawRequest("fetch", FETCH, version, is_flexible, [b"".join([*parts, tags])])


def _partition(version: int, target: FetchTarget) -> bytes:
    parts = [_INT.pack(target.partition)]
    if version >= _EPOCHS:
        parts.append(_NOBODY)
    parts.append(_LONG.pack(target.offset))
    if version >= _FLEXIBLE:
        parts.append(_NOBODY)  # the epoch of the last record: unknown
    if version >= _LOG_STARTS:
        parts.append(_LONG.pack(-1))
    parts.append(_INT.pack(target.partition_max_bytes))
    return b"".join(parts)


def parse_fetched(version: int, answer: memoryview) -> Fetched:
    """Raises one of answer_reader.MALFORMED for bytes that are no such answer."""
    reader = AnswerReader(answer, is_flexible=version >= _FLEXIBLE)
    throttle_ms, error_code = 0, 0
    if version >= _SESSIONS:
        throttle_ms, error_code, _session = reader.unpack(_STATUS)
    else:
        (throttle_ms,) = reader.unpack(_INT)
    if error_code:
        return Fetched(error_code, -1, -1, -1, (), -1, _NO_RECORDS, throttle_ms)
    if reader.count() != 1:
        # A broker over its quota may leave the partition out.
        return Fetched(0, -1, -1, -1, (), -1, _NO_RECORDS, throttle_ms)
    if version >= BY_ID:
        reader.position += 16
    else:
        reader.text()
    if reader.count() != 1:
        return Fetched(0, -1, -1, -1, (), -1, _NO_RECORDS, throttle_ms)
    return _parse_partition(version, reader, throttle_ms)


def _parse_partition(version: int, reader: AnswerReader, throttle_ms: int) -> Fetched:
    _partition, error_code, high_watermark, last_stable_offset = reader.unpack(_PARTITION)
    log_start_offset = reader.unpack(_LONG)[0] if version >= _LOG_STARTS else -1
    aborted = []
    for _ in range(reader.count()):
        producer_id, first_offset = reader.unpack(_ABORTED)
        aborted.append((producer_id, first_offset))
        reader.tags()
    preferred = reader.unpack(_INT)[0] if version >= _RACKS else -1
    records = reader.raw()
    return Fetched(
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        tuple(aborted),
        preferred,
        _NO_RECORDS if records is None else records,
        throttle_ms,
    )
