"""The live records in the log of `__transaction_state`: the newest record of every transactional id.

A tombstone removes its id. Control batches have no meaning here (only a client that writes markers itself
could write one) and are skipped. Bytes that are no batch raise `CorruptMessage` or `InvalidRecord`, a record
that cannot be decoded raises `CorruptMessage`. The shard cannot be loaded then, as in Kafka. Keys of an
unknown version are skipped with a warning. Nearly every record is alone in its batch. Such a batch is parsed
directly, in half the time.
"""

import logging
from collections.abc import Iterator
from struct import Struct
from typing import Protocol

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.records.batch import (
    CODEC_MASK,
    CONTROL_MASK,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_V2,
    MINIMUM_LENGTH,
    parse_header,
)
from barnabas.records.record import decode_payload, unpack
from barnabas.records.varint import MAX_UINT32, decode_unsigned
from barnabas.transaction.record_codec import decode_transaction_record
from barnabas.transaction.transaction_record import TransactionRecord

logger = logging.getLogger("coordinator")

_BATCH = Struct(">qi4xb4xhi30xi")
"""Base offset, batch length, magic, attributes, last offset delta, record count."""
_ZEROES = b"\x00\x00\x00"
"""Attributes and deltas of the first record of a batch."""


class Replayable(Protocol):
    def replay(self, record: TransactionRecord) -> None: ...


class TransactionSurvivors:
    def __init__(self) -> None:
        self.record_count: int = 0
        self._values: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._values)

    def feed(self, chunk: bytes, start_offset: int, end_offset: int) -> int:
        """Take in the whole batches of `chunk` between two offsets. Returns the offset to go on from."""
        position, size, next_offset = 0, len(chunk), start_offset
        unpack_from = _BATCH.unpack_from
        while size - position >= HEADER_SIZE:
            base_offset, length, magic, attributes, delta, count = unpack_from(chunk, position)
            if magic != MAGIC_V2 or length < MINIMUM_LENGTH:
                parse_header(chunk, position)
            end = position + length + LOG_OVERHEAD
            if end > size or base_offset >= end_offset:
                break
            if base_offset + delta >= start_offset:
                self.record_count += count
                if not attributes & CONTROL_MASK:
                    is_alone = count == 1 and not attributes & CODEC_MASK
                    if not (is_alone and self._take_alone(chunk, position + HEADER_SIZE, end)):
                        self._take_any(chunk[position:end])
                next_offset = base_offset + delta + 1
            position = end
        return next_offset

    def _take_alone(self, chunk: bytes, position: int, end: int) -> bool:
        """Take in a batch of one record, as a coordinator writes it. Returns False for any other batch."""
        _, position = decode_unsigned(chunk, position, MAX_UINT32)
        if chunk[position : position + 3] != _ZEROES:
            return False
        length, position = decode_unsigned(chunk, position + 3, MAX_UINT32)
        value_at = position + (length >> 1)
        raw, value_start = decode_unsigned(chunk, value_at, MAX_UINT32)
        value_end = value_start if raw & 1 else value_start + (raw >> 1)
        if length & 1 or value_end + 1 != end or chunk[value_end]:
            return False
        self._keep(chunk[position:value_at], None if raw & 1 else chunk[value_start:value_end])
        return True

    def _take_any(self, batch: bytes) -> None:
        """Take in a batch of any kind."""
        header = parse_header(batch)
        for record in decode_payload(unpack(batch, header), header):
            if record.key is None:
                raise InvalidRecord("a record of a coordinator has no key")
            self._keep(record.key, record.value)

    def _keep(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value

    def replay_into(self, shard: Replayable) -> Iterator[None]:
        """Replay the live records, in short steps, and release them."""
        unknown = 0
        values, self._values = self._values, {}
        for key, value in values.items():
            try:
                record = decode_transaction_record(key, value)
            except CorruptMessage as error:
                raise CorruptMessage(f"the record of {key.hex()} is unreadable: {error.message}") from error
            if record is None:
                unknown += 1
            else:
                shard.replay(record)
            yield
        if unknown:
            logger.warning("%d records with an unknown version of their key were skipped", unknown)
