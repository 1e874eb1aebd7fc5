"""Requests of the transaction APIs, encoded by hand, and the parts of their answers that producers act upon.

FindCoordinator v4 for a transactional id, InitProducerId v5, EndTxn v5 (transaction version 2: each end gives
the producer id and epoch to go on with). Produce v12 is in `protocol`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from benchmarks.protocol import NO_TAGS, Reader, encoded_array, encoded_request, encoded_string

FIND_COORDINATOR, INIT_PRODUCER_ID, END_TXN = 10, 22, 26
CONCURRENT_TRANSACTIONS = 51

_TRANSACTION = b"\x01"
_TIMEOUT_MS = 60_000
_PRODUCER = struct.Struct(">qh")
_IS_COMMIT = b"\x01"


def find_coordinator(transactional_id: str) -> bytes:
    keys = encoded_array([encoded_string(transactional_id)])
    return encoded_request(FIND_COORDINATOR, 4, _TRANSACTION + keys + NO_TAGS)


def init_producer_id(transactional_id: str) -> bytes:
    body = encoded_string(transactional_id) + struct.pack(">i", _TIMEOUT_MS) + _PRODUCER.pack(-1, -1)
    return encoded_request(INIT_PRODUCER_ID, 5, body + NO_TAGS)


def commit(transactional_id: str) -> bytes:
    """EndTxn that commits; the producer is put in by `set_producer`."""
    body = encoded_string(transactional_id) + _PRODUCER.pack(-1, -1) + _IS_COMMIT
    return encoded_request(END_TXN, 5, body + NO_TAGS)


def set_producer(request: bytearray, producer_id: int, epoch: int) -> None:
    """Put the producer into a `commit`."""
    behind = len(_IS_COMMIT) + len(NO_TAGS)
    _PRODUCER.pack_into(request, len(request) - behind - _PRODUCER.size, producer_id, epoch)


@dataclass(frozen=True, slots=True)
class GivenProducer:
    """What InitProducerId and EndTxn answered."""

    error: int
    producer_id: int
    epoch: int


def parse_producer(response: bytes) -> GivenProducer:
    """The answer to InitProducerId and to EndTxn: both have the same fields."""
    reader = Reader(response)
    reader.unpack("i")
    reader.tags()
    _throttle, error, producer_id, epoch = reader.unpack("ihqh")
    return GivenProducer(error, producer_id, epoch)
