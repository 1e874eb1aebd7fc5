"""The records that Spark reads: JSON events of exactly 100 bytes or 1 KiB (key and value), in 1 MB batches.

A few different batches are encoded once and replayed until a topic has its records: a topic of a gigabyte is
there in some seconds. Events are spread over an hour and over some hundred pages, so that windows have work.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cramjam
from crc32c import crc32c

from benchmarks import protocol, raw_client
from benchmarks.batches import batch
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from benchmarks.raw_client import Connection

PARTITIONS = 4
KEY_BYTES = 8
BATCH_BYTES = 1_000_000
IN_FLIGHT = 5
_DIFFERENT = 8
_HOUR_MS = 3_600_000
_FIRST_MS = 1_767_225_600_000
_LZ4 = 3
_LENGTH_AT, _CRC_AT, _ATTRIBUTES_AT, _RECORDS_AT = 8, 17, 21, 61


@dataclass(frozen=True, slots=True)
class EventTopic:
    """A topic to be loaded."""

    name: str
    records: int
    record_bytes: int
    codec: str = "none"


def load(connection: Connection, topic: EventTopic) -> None:
    """Create the topic and fill its partitions evenly; `records` is met exactly."""
    raw_client.create_topic(connection, topic.name, PARTITIONS, {"retention.ms": "-1"})
    encoded = [
        (count, _packed(encoded, topic.codec)) for count, encoded in _event_batches(topic.record_bytes)
    ]
    answer = ProduceAnswer(topic.name, 1)
    unanswered = 0
    first = True
    for partition in range(PARTITIONS):
        for records in _until(_share(topic.records, partition), encoded, topic):
            request = protocol.produce(topic.name, [(partition, records)], acks=1)
            if first:
                raw_client.produce_once(connection, request, answer)
                first = False
                continue
            connection.send(request)
            unanswered += 1
            if unanswered == IN_FLIGHT:
                _receive(connection, answer)
                unanswered -= 1
    for _ in range(unanswered):
        _receive(connection, answer)


def _receive(connection: Connection, answer: ProduceAnswer) -> None:
    if error := answer.first_error(connection.receive()):
        raise UnexpectedAnswer(f"loading: error code {error}")


def _share(records: int, partition: int) -> int:
    return records // PARTITIONS + (partition < records % PARTITIONS)


def _until(count: int, encoded: Sequence[tuple[int, bytes]], topic: EventTopic) -> Iterator[bytes]:
    """Batches of together `count` records, the last one made to measure."""
    for size, records in itertools.cycle(encoded):
        if count < size:
            break
        yield records
        count -= size
    if count:
        yield _packed(_batch(events(topic.record_bytes, count)), topic.codec)


def _event_batches(record_bytes: int) -> list[tuple[int, bytes]]:
    size = BATCH_BYTES // (record_bytes + 10)
    made = events(record_bytes, size * _DIFFERENT)
    return [(size, _batch(made[start : start + size])) for start in range(0, len(made), size)]


def _batch(made: Sequence[tuple[bytes, bytes]]) -> bytes:
    return batch([value for _, value in made], keys=[key for key, _ in made])


def events(record_bytes: int, count: int) -> list[tuple[bytes, bytes]]:
    """Keys and values, the same in every run."""
    chance = random.Random(record_bytes)
    words = [f"{chance.getrandbits(24):06x}" for _ in range(2000)]
    made = []
    for _ in range(count):
        user, page = chance.randrange(100_000), chance.randrange(300)
        when = _FIRST_MS + chance.randrange(_HOUR_MS)
        head = f'{{"at":{when},"user":{user},"page":"p{page}","ms":{chance.randrange(2000)},"note":"'
        room = record_bytes - KEY_BYTES - len(head) - 2
        note = " ".join(chance.choices(words, k=room // 7 + 1))[:room]
        made.append((f"u{user:07}".encode(), f'{head}{note}"}}'.encode()))
    return made


def _packed(encoded: bytes, codec: str) -> bytes:
    """The batch with its records compressed, as Kafka wants its frames: blocks that stand alone."""
    if codec == "none":
        return encoded
    compressor = cramjam.lz4.Compressor(level=1, content_checksum=False, block_linked=False)
    compressor.compress(encoded[_RECORDS_AT:])
    packed = bytearray(encoded[:_RECORDS_AT]) + bytes(compressor.finish())
    struct.pack_into(">i", packed, _LENGTH_AT, len(packed) - 12)
    struct.pack_into(">h", packed, _ATTRIBUTES_AT, _LZ4)
    struct.pack_into(">I", packed, _CRC_AT, crc32c(packed[_ATTRIBUTES_AT:]))
    return bytes(packed)
