"""Batches that a life produces: all codecs, keys, tombstones, headers, and timestamps of every kind.

A header may lie about its timestamps, as librdkafka's does for records without one (base -1, maximum 0).
"""

import random
from dataclasses import dataclass

from crc32c import crc32c

from barnabas.records.batch import ATTRIBUTES_OFFSET, CRC_OFFSET, MAX_TIMESTAMP_OFFSET
from barnabas.records.builder import build_batch
from barnabas.records.compression import CODEC_NAMES
from barnabas.records.record import Record

STAMPS = ("now", "none", "none with maximum 0", "mixed", "past", "future", "maximum 0", "maximum ahead")
HONEST_STAMPS = ("now", "none", "mixed", "past", "future")
CODECS = tuple(CODEC_NAMES)
KEYS = tuple(b"key-%d" % number for number in range(6))
_HALF_AN_HOUR = 1_800_000


@dataclass(slots=True)
class Writer:
    """Makes records with distinct values for a whole life."""

    written: int = 0

    def records(self, count: int, stamp: str, now_ms: int, *, seed: int, keyed: bool) -> list[Record]:
        rng = random.Random(seed)
        found = []
        for number in range(count):
            self.written += 1
            key = rng.choice(KEYS) if keyed or rng.random() < 0.8 else None
            value = b"%d" % self.written + b"." * rng.choice((0, 10, 100))
            tombstone = key is not None and rng.random() < 0.1
            headers = (("h", b"%d" % self.written),) if rng.random() < 0.2 else ()
            timestamp = _timestamp(stamp, number, now_ms, rng)
            found.append(Record(number, timestamp, key, None if tombstone else value, headers))
        return found


def _timestamp(stamp: str, number: int, now_ms: int, rng: random.Random) -> int:
    if stamp.startswith("none"):
        return -1
    if stamp == "past":
        return rng.choice((0, 1, now_ms - 86_400_000))
    if stamp == "future":
        return now_ms + rng.randrange(_HALF_AN_HOUR)
    if stamp == "mixed":
        return now_ms - rng.randrange(_HALF_AN_HOUR)
    return now_ms + number


def encode(records: list[Record], codec: str, stamp: str, now_ms: int, **options: object) -> bytes:
    batch = bytearray(build_batch(records, compression=CODECS.index(codec), **options))  # type: ignore[arg-type]
    stated = {"none with maximum 0": 0, "maximum 0": 0, "maximum ahead": now_ms + _HALF_AN_HOUR}.get(stamp)
    if stated is not None:
        batch[MAX_TIMESTAMP_OFFSET : MAX_TIMESTAMP_OFFSET + 8] = stated.to_bytes(8, "big")
        batch[CRC_OFFSET : CRC_OFFSET + 4] = crc32c(bytes(batch[ATTRIBUTES_OFFSET:])).to_bytes(4, "big")
    return bytes(batch)
