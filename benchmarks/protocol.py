"""The few Kafka requests the raw generator sends, encoded by hand, at versions both brokers serve.

Produce v9, Fetch v12, Metadata v9, CreateTopics v5, DeleteTopics v4: the newest that still name topics by
name, all of them in the flexible encoding. Requests include their four length bytes. Responses are given
without them, from the correlation id on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.batches import uvarint

PRODUCE, FETCH, METADATA, CREATE_TOPICS, DELETE_TOPICS = 0, 1, 3, 19, 20
CLIENT_ID = b"barnabas-bench"

_NO_TAGS = b"\x00"


class UnexpectedAnswer(Exception):
    """The broker answered with an error, or with bytes that are not the asked response."""


def _string(text: str) -> bytes:
    raw = text.encode()
    return uvarint(len(raw) + 1) + raw


def _array(items: Iterable[bytes]) -> bytes:
    encoded = list(items)
    return uvarint(len(encoded) + 1) + b"".join(encoded)


def _request(api_key: int, version: int, body: bytes) -> bytes:
    header = struct.pack(">hhih", api_key, version, 1, len(CLIENT_ID)) + CLIENT_ID + _NO_TAGS
    return struct.pack(">i", len(header) + len(body)) + header + body


def produce(topic: str, batches: Sequence[tuple[int, bytes]], acks: int, timeout_ms: int = 30000) -> bytes:
    """Produce v9 of one batch for each (partition, batch)."""
    partitions = _array(
        struct.pack(">i", index) + uvarint(len(records) + 1) + records + _NO_TAGS
        for index, records in batches
    )
    topics = _array([_string(topic) + partitions + _NO_TAGS])
    return _request(PRODUCE, 9, b"\x00" + struct.pack(">hi", acks, timeout_ms) + topics + _NO_TAGS)


def fetch(
    topic: str,
    offsets: Sequence[tuple[int, int]],
    partition_max_bytes: int,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
) -> bytes:
    """Fetch v12 without a session, from each (partition, offset)."""
    partitions = _array(
        struct.pack(">iiqiqi", index, -1, offset, -1, -1, partition_max_bytes) + _NO_TAGS
        for index, offset in offsets
    )
    topics = _array([_string(topic) + partitions + _NO_TAGS])
    head = struct.pack(">iiiibii", -1, max_wait_ms, min_bytes, 0x7FFFFFFF, 0, 0, -1)
    return _request(FETCH, 12, head + topics + _array([]) + _string("") + _NO_TAGS)


def metadata(topics: Sequence[str] | None) -> bytes:
    """Metadata v9 of the named topics, or of all topics when None; never creates one."""
    asked = b"\x00" if topics is None else _array(_string(name) + _NO_TAGS for name in topics)
    return _request(METADATA, 9, asked + b"\x00\x00\x00" + _NO_TAGS)


def create_topic(topic: str, partitions: int, timeout_ms: int = 60000) -> bytes:
    spec = _string(topic) + struct.pack(">ih", partitions, 1) + _array([]) + _array([]) + _NO_TAGS
    return _request(CREATE_TOPICS, 5, _array([spec]) + struct.pack(">i?", timeout_ms, False) + _NO_TAGS)


def delete_topic(topic: str, timeout_ms: int = 60000) -> bytes:
    return _request(DELETE_TOPICS, 4, _array([_string(topic)]) + struct.pack(">i", timeout_ms) + _NO_TAGS)


class Reader:
    """A cursor over one response."""

    def __init__(self, response: bytes | memoryview) -> None:
        self._buffer = response
        self.position = 0

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(">" + layout, self._buffer, self.position)
        self.position += struct.calcsize(">" + layout)
        return values

    def uvarint(self) -> int:
        result = shift = 0
        while True:
            byte = self._buffer[self.position]
            self.position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7

    def string(self) -> str | None:
        length = self.uvarint() - 1
        if length < 0:
            return None
        self.position += length
        return bytes(self._buffer[self.position - length : self.position]).decode()

    def count(self) -> int:
        """The length of an array; a null one counts as empty."""
        return max(self.uvarint() - 1, 0)

    def skip_int32s(self) -> None:
        size = 4 * self.count()
        self.position += size

    def tags(self) -> None:
        for _ in range(self.uvarint()):
            self.uvarint()
            size = self.uvarint()
            self.position += size


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What the benchmark wants to know of a Metadata response."""

    brokers: int
    led_partitions: dict[str, int]
    """Topic name to the number of its partitions that have a leader."""


def parse_metadata(response: bytes) -> ClusterView:
    reader = Reader(response)
    reader.unpack("i")
    reader.tags()
    reader.unpack("i")
    brokers = reader.count()
    for _ in range(brokers):
        reader.unpack("i")
        reader.string()
        reader.unpack("i")
        reader.string()
        reader.tags()
    reader.string()
    reader.unpack("i")
    led = dict(_parse_topic(reader) for _ in range(reader.count()))
    return ClusterView(brokers, led)


def _parse_topic(reader: Reader) -> tuple[str, int]:
    reader.unpack("h")
    name = reader.string() or ""
    reader.unpack("b")
    led = 0
    for _ in range(reader.count()):
        error, _index, leader, _epoch = reader.unpack("hiii")
        led += error == 0 and leader >= 0
        for _ in range(3):
            reader.skip_int32s()
        reader.tags()
    reader.unpack("i")
    reader.tags()
    return name, led


def check_created(response: bytes) -> None:
    reader = Reader(response)
    reader.unpack("i")
    reader.tags()
    reader.unpack("i")
    for _ in range(reader.count()):
        name = reader.string()
        (error,) = reader.unpack("h")
        if error:
            raise UnexpectedAnswer(f"creating topic {name}: error code {error} ({reader.string()})")
        return


class ProduceAnswer:
    """Where error codes are in the answers to a Produce request: equal requests get equally long answers."""

    __slots__ = ("error_positions", "size")

    def __init__(self, topic: str, partitions: int) -> None:
        # correlation id, tags, topics, name, partitions; 33 bytes a partition; tags, throttle time, tags
        first = 4 + 1 + 1 + len(_string(topic)) + len(uvarint(partitions + 1))
        self.error_positions = [first + 33 * index + 4 for index in range(partitions)]
        self.size = first + 33 * partitions + 1 + 4 + 1

    def first_error(self, response: bytes | memoryview) -> int:
        for position in self.error_positions:
            code = int.from_bytes(response[position : position + 2], "big", signed=True)
            if code:
                return code
        return 0


@dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Where the records of one partition are in a Fetch response."""

    partition: int
    error: int
    start: int
    size: int


def parse_fetch(response: bytes | memoryview) -> list[FetchedRecords]:
    reader = Reader(response)
    reader.unpack("i")
    reader.tags()
    _throttle, error, _session = reader.unpack("ihi")
    if error:
        raise UnexpectedAnswer(f"fetch: error code {error}")
    fetched = []
    for _ in range(reader.count()):
        reader.string()
        for _ in range(reader.count()):
            index, code, _hw, _lso, _start = reader.unpack("ihqqq")
            for _ in range(reader.count()):
                reader.unpack("qq")
                reader.tags()
            reader.unpack("i")
            size = reader.count()
            fetched.append(FetchedRecords(index, code, reader.position, size))
            reader.position += size
            reader.tags()
        reader.tags()
    return fetched
