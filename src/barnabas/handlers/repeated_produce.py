"""A shortcut for the requests a producer sends again and again.

From one Produce of a connection to the next usually only the correlation id and the records differ: client
id, acks, timeout, topic and partition are the same bytes. After such a request (one topic, one partition)
went the full path, the bytes around its records are remembered with the partition they led to. A request with
the same bytes goes straight to `Partition.append`, and its answer is the remembered one with other numbers.
Measured: 10 microseconds instead of 27.

Whatever is unusual, an error, tags, another shape, the first batch of a transaction that the coordinator
does not verify at once, is left to the full path, which decides from the beginning.
"""

import struct

from barnabas.base.errors import KafkaError
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.storage.append_info import AppendInfo
from barnabas.wire.header import RequestHeader
from barnabas.wire.primitives import read_unsigned_varint, write_unsigned_varint
from barnabas.wire.produce import (
    API_KEY,
    FIRST_FLEXIBLE,
    FIRST_WITH_ZSTD,
    ProducePartitionResult,
    ProduceRequest,
    ProduceTopicResult,
    TopicRecords,
    encode_produce_response,
)

_INT32 = struct.Struct(">i")
_AFTER_CORRELATION = 8
_NO_TAGS = b"\x00\x00\x00"
"""Of the partition, of the topic and of the request."""
_ATTRIBUTES_LOW_BYTE = 22
_PRODUCER = struct.Struct(">qh")
_PRODUCER_OFFSET = 43
"""Of producer id and epoch in a batch."""
_FIRST_WITH_LOG_START = 5
_MOST_ENDS = 4
_MOST_PREFIXES = 1024
_MOST_MISSES = 64
_MARKS = (0x0102030405060708, 0x1112131415161718, 0x2122232425262728)
"""Stand for base offset, append time and log start in an answer, to find their positions in it."""


class Repetitions:
    """What one connection produced lately, by the bytes between correlation id and records."""

    __slots__ = ("_by_prefix", "_ends", "_misses", "_partitions", "_table_version")

    def __init__(self, partitions: Partitions) -> None:
        self._partitions: Partitions = partitions
        self._table_version: int = partitions.version
        self._by_prefix: dict[bytes, RepeatedProduce] = {}
        self._ends: list[int] = []
        """Where remembered prefixes end; nearly always one position, as topics are few."""
        self._misses: int = 0

    def find(self, frame: memoryview) -> "RepeatedProduce | None":
        """The remembered request that `frame` may be; its `records_of` says whether it is."""
        for end in self._ends:
            found = self._by_prefix.get(bytes(frame[_AFTER_CORRELATION:end]))
            if found is not None:
                if self._table_version != self._partitions.version:
                    self._forget()
                    return None
                self._misses = 0
                return found
        self._misses += 1
        return None

    def remember(
        self,
        partition: Partition,
        version: int,
        request: ProduceRequest,
        frame: memoryview,
        records_size: int,
    ) -> None:
        """Make the next request like this one quick; one with an unusual end is not worth it."""
        if self._misses > _MOST_MISSES:
            return  # this client does something else every time: looking for repetitions only costs
        if self._table_version != self._partitions.version:
            self._forget()  # others led to partitions of a topic that may have been deleted
            self._table_version = self._partitions.version
        end, length_size = len(frame), 4
        if version >= FIRST_FLEXIBLE:
            end -= len(_NO_TAGS)
            if frame[end:] != _NO_TAGS:
                return
            length_size = len(write_unsigned_varint(records_size + 1))
        prefix_end = end - records_size - length_size
        prefix = bytes(frame[_AFTER_CORRELATION:prefix_end])
        if prefix in self._by_prefix:
            known = self._by_prefix[prefix]
            if known.is_of(version, prefix_end):
                return  # only its records were out of the ordinary
        if prefix_end not in self._ends:
            if len(self._ends) == _MOST_ENDS:
                self._forget()
            self._ends.append(prefix_end)
        elif len(self._by_prefix) >= _MOST_PREFIXES:
            self._forget()
            self._ends.append(prefix_end)
        repeated = RepeatedProduce(partition, version, request, frame, prefix_end)
        self._by_prefix[prefix] = repeated

    def _forget(self) -> None:
        self._by_prefix.clear()
        self._ends.clear()


class RepeatedProduce:
    """One remembered request: first `records_of`, then `append`, then `answer`."""

    __slots__ = (
        "_allow_zstd",
        "_answer",
        "_correlation_id",
        "_has_log_start",
        "_is_flexible",
        "_layout",
        "_prefix_end",
        "_start",
        "_topic",
        "acks",
        "partition",
        "timeout_ms",
        "transactional_id",
        "version",
    )

    def __init__(
        self, partition: Partition, version: int, request: ProduceRequest, frame: memoryview, prefix_end: int
    ) -> None:
        self.partition: Partition = partition
        self.timeout_ms: int = request.timeout_ms
        self.transactional_id: str | None = request.transactional_id
        self.version: int = version
        self.acks: int = request.acks
        self._allow_zstd: bool = version >= FIRST_WITH_ZSTD
        self._is_flexible: bool = version >= FIRST_FLEXIBLE
        self._start: bytes = bytes(frame[:4])
        self._prefix_end: int = prefix_end
        self._topic: TopicRecords = request.topics[0]._replace(partitions=[])
        self._correlation_id: int = 0
        self._prepare_answer()

    def _prepare_answer(self) -> None:
        """Cut an answer where its numbers are: they and the correlation id are all that changes."""
        result = ProducePartitionResult(self.partition.topic_partition.partition, 0, *_MARKS)
        answer = encode_produce_response(self.version, 0, [ProduceTopicResult(*self._topic[:2], [result])])
        count = 3 if self.version >= _FIRST_WITH_LOG_START else 2
        marks = struct.pack(f">{count}q", *_MARKS[:count])
        at = answer.index(marks)
        start, end = answer[8:at], answer[at + len(marks) :]
        self._layout: struct.Struct = struct.Struct(f">4si{len(start)}s{count}q{len(end)}s")
        # The length stays: correlation id and numbers have fixed sizes.
        self._answer: tuple[bytes, bytes, bytes] = answer[:4], start, end
        self._has_log_start: bool = count == 3

    def is_of(self, version: int, prefix_end: int) -> bool:
        return self.version == version and self._prefix_end == prefix_end

    def records_of(self, frame: memoryview) -> memoryview | None:
        """The records of a request that has this one's prefix; None if its start or end is another."""
        at = self._prefix_end
        if frame[:4] != self._start:
            return None
        try:
            if self._is_flexible:
                size = frame[at]
                if size < 0x80:
                    at += 1
                else:
                    size, at = read_unsigned_varint(frame, at)
                end = at + size - 1
                if frame[end:] != _NO_TAGS:
                    return None
            else:
                end = at + 4 + _INT32.unpack_from(frame, at)[0]
                at += 4
                if end != len(frame):
                    return None
        except (IndexError, struct.error, KafkaError):
            return None
        if end - at <= _ATTRIBUTES_LOW_BYTE:
            return None
        (self._correlation_id,) = _INT32.unpack_from(frame, 4)
        return frame[at:end]

    def is_ongoing(self, records: memoryview) -> bool:
        """Whether the batch's transaction is open in the partition: only then it needs no verification."""
        if self.transactional_id is None or len(records) < _PRODUCER_OFFSET + _PRODUCER.size:
            return False
        try:
            producers = self.partition.log.producers
        except KafkaError:
            return False
        return producers.has_ongoing(*_PRODUCER.unpack_from(records, _PRODUCER_OFFSET))

    def append(self, records: memoryview) -> AppendInfo:
        return self.partition.append(records, self.acks, allow_zstd=self._allow_zstd, may_defer=True)

    def must_wait(self, info: AppendInfo) -> bool:
        return self.partition.must_wait(info, self.acks)

    def answer(self, info: AppendInfo) -> bytes:
        length, start, end = self._answer
        offset, time = info.base_offset, info.log_append_time
        if self._has_log_start:
            return self._layout.pack(
                length, self._correlation_id, start, offset, time, info.log_start_offset, end
            )
        return self._layout.pack(length, self._correlation_id, start, offset, time, end)

    @property
    def header(self) -> RequestHeader:
        return RequestHeader(API_KEY, self.version, self._correlation_id, 0)

    def result(self, info: AppendInfo) -> ProduceTopicResult:
        number = self.partition.topic_partition.partition
        numbers = (info.base_offset, info.log_append_time, info.log_start_offset)
        return ProduceTopicResult(*self._topic[:2], [ProducePartitionResult(number, 0, *numbers)])
