"""The few Kafka requests the raw generator sends, encoded by hand, at versions both brokers serve.

Produce v9 (v12 in a transaction), Fetch v12, Metadata v9, CreateTopics v5, DeleteTopics v4: they still name
topics by name; IncrementalAlterConfigs v1; all of them in the flexible encoding. Requests include their four
length bytes. Responses are given without them, from the correlation id on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.batches import uvarint

PRODUCE, FETCH, METADATA, CREATE_TOPICS, DELETE_TOPICS, INCREMENTAL_ALTER_CONFIGS = 0, 1, 3, 19, 20, 44
CLIENT_ID = b"barnabas-bench"

NO_TAGS = b"\x00"
_NULL = b"\x00"


class UnexpectedAnswer(Exception):
    """The broker answered with an error, or with bytes that are not the response to the request."""


def encoded_string(text: str) -> bytes:
    raw = text.encode()
    return uvarint(len(raw) + 1) + raw


def encoded_array(items: Iterable[bytes]) -> bytes:
    encoded = list(items)
    return uvarint(len(encoded) + 1) + b"".join(encoded)


def encoded_request(api_key: int, version: int, body: bytes) -> bytes:
    header = struct.pack(">hhih", api_key, version, 1, len(CLIENT_ID)) + CLIENT_ID + NO_TAGS
    return struct.pack(">i", len(header) + len(body)) + header + body


def produce(
    topic: str,
    batches: Sequence[tuple[int, bytes]],
    acks: int,
    timeout_ms: int = 30000,
    transactional_id: str | None = None,
) -> bytes:
    """Produce v9 of one batch for each (partition, batch).

    With a transactional id v12: laid out the same, it adds the partitions to the transaction by itself.
    """
    partitions = encoded_array(
        struct.pack(">i", index) + uvarint(len(records) + 1) + records + NO_TAGS for index, records in batches
    )
    topics = encoded_array([encoded_string(topic) + partitions + NO_TAGS])
    version, said = (9, _NULL) if transactional_id is None else (12, encoded_string(transactional_id))
    return encoded_request(PRODUCE, version, said + struct.pack(">hi", acks, timeout_ms) + topics + NO_TAGS)


def fetch(
    topic: str,
    offsets: Sequence[tuple[int, int]],
    partition_max_bytes: int,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    *,
    is_committed_only: bool = False,
) -> bytes:
    """Fetch v12 without a session, from each (partition, offset); read_committed if `is_committed_only`."""
    partitions = encoded_array(
        struct.pack(">iiqiqi", index, -1, offset, -1, -1, partition_max_bytes) + NO_TAGS
        for index, offset in offsets
    )
    topics = encoded_array([encoded_string(topic) + partitions + NO_TAGS])
    head = struct.pack(">iiiibii", -1, max_wait_ms, min_bytes, 0x7FFFFFFF, is_committed_only, 0, -1)
    return encoded_request(FETCH, 12, head + topics + encoded_array([]) + encoded_string("") + NO_TAGS)


def metadata(topics: Sequence[str] | None) -> bytes:
    """Metadata v9 of the named topics, or of all topics when None; never creates one."""
    names = b"\x00" if topics is None else encoded_array(encoded_string(name) + NO_TAGS for name in topics)
    return encoded_request(METADATA, 9, names + b"\x00\x00\x00" + NO_TAGS)


def create_topic(
    topic: str,
    partitions: int,
    configs: Mapping[str, str] | None = None,
    timeout_ms: int = 60000,
    replication_factor: int = 1,
) -> bytes:
    chosen = encoded_array(
        encoded_string(key) + encoded_string(value) + NO_TAGS for key, value in (configs or {}).items()
    )
    size = struct.pack(">ih", partitions, replication_factor)
    spec = encoded_string(topic) + size + encoded_array([]) + chosen + NO_TAGS
    return encoded_request(
        CREATE_TOPICS, 5, encoded_array([spec]) + struct.pack(">i?", timeout_ms, False) + NO_TAGS
    )


def delete_topic(topic: str, timeout_ms: int = 60000) -> bytes:
    return encoded_request(
        DELETE_TOPICS, 4, encoded_array([encoded_string(topic)]) + struct.pack(">i", timeout_ms) + NO_TAGS
    )


def alter_topic_configs(topic: str, configs: Mapping[str, str]) -> bytes:
    """IncrementalAlterConfigs v1: set these keys of a topic."""
    set_to = encoded_array(
        encoded_string(key) + b"\x00" + encoded_string(value) + NO_TAGS for key, value in configs.items()
    )
    resource = b"\x02" + encoded_string(topic) + set_to + NO_TAGS
    return encoded_request(INCREMENTAL_ALTER_CONFIGS, 1, encoded_array([resource]) + b"\x00" + NO_TAGS)


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

    def take(self, size: int) -> bytes:
        self.position += size
        return bytes(self._buffer[self.position - size : self.position])

    def raw(self) -> bytes:
        """Compact bytes; null counts as empty."""
        return self.take(self.count())

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
class PartitionView:
    error: int
    leader: int
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What the benchmark wants to know of a Metadata response."""

    ports: dict[int, int]
    """Broker id to its port."""
    controller: int
    topics: dict[str, dict[int, PartitionView]]

    @property
    def brokers(self) -> int:
        return len(self.ports)

    @property
    def led_partitions(self) -> dict[str, int]:
        """Topic name to the number of its partitions that have a leader."""
        return {
            name: sum(each.error == 0 and each.leader >= 0 for each in partitions.values())
            for name, partitions in self.topics.items()
        }


def parse_metadata(response: bytes) -> ClusterView:
    reader = Reader(response)
    reader.unpack("i")
    reader.tags()
    reader.unpack("i")
    ports = {}
    for _ in range(reader.count()):
        (broker_id,) = reader.unpack("i")
        reader.string()
        (ports[broker_id],) = reader.unpack("i")
        reader.string()
        reader.tags()
    reader.string()
    (controller,) = reader.unpack("i")
    topics = dict(_parse_topic(reader) for _ in range(reader.count()))
    return ClusterView(ports, controller, topics)


def _parse_topic(reader: Reader) -> tuple[str, dict[int, PartitionView]]:
    reader.unpack("h")
    name = reader.string() or ""
    reader.unpack("b")
    partitions = {}
    for _ in range(reader.count()):
        error, index, leader, _epoch = reader.unpack("hiii")
        reader.skip_int32s()
        isr = reader.unpack(f"{reader.count()}i")
        reader.skip_int32s()
        reader.tags()
        partitions[index] = PartitionView(error, leader, isr)
    reader.unpack("i")
    reader.tags()
    return name, partitions


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


def check_configs_altered(response: bytes) -> None:
    reader = Reader(response)
    reader.unpack("i")
    reader.tags()
    reader.unpack("i")
    for _ in range(reader.count()):
        (error,) = reader.unpack("h")
        if error:
            raise UnexpectedAnswer(
                f"altering a topic's configuration: error code {error} ({reader.string()})"
            )
        return


class ProduceAnswer:
    """Where error codes are in the answers to a Produce request: equal requests get equally long answers."""

    __slots__ = ("error_positions", "size")

    def __init__(self, topic: str, partitions: int) -> None:
        # correlation id, tags, topics, name, partitions; 33 bytes a partition; tags, throttle time, tags
        first = 4 + 1 + 1 + len(encoded_string(topic)) + len(uvarint(partitions + 1))
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
