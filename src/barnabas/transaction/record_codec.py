"""The records of `__transaction_state`: TransactionLogKey version 0, TransactionLogValue versions 0 and 1.

    key    int16 0, then the transactional id (string)
    value  int16 version, producer id (int64), producer epoch (int16), timeout (int32), state (int8),
           partitions (null for Empty): topic (string), partition ids (int32s),
           last update (int64), start (int64)

Version 1 is flexible, and has tags for values other than the default: 0 previous producer id (int64, -1), 1
next producer id (int64, -1), 2 transaction version of the client (int16, 0), 3 next producer epoch (int16,
-1). Version 0 has no fields for these. The epoch before the current one is in neither. Topics and partitions
are written in ascending order. Kafka writes them in the order of its hash tables.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from struct import Struct

from barnabas.base.errors import CorruptMessage
from barnabas.base.ids import TopicPartition
from barnabas.transaction.transaction import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
)
from barnabas.transaction.transaction_record import TransactionRecord
from barnabas.wire.message_fields import (
    INT16,
    INT32,
    INT64,
    NO_TAGS,
    FieldReader,
    classic_string,
    compact_array,
    compact_int32s,
    compact_string,
    encode_key,
    tagged_fields,
)

WRITTEN_VERSION = 1
_TRANSACTION_LOG = 0
_NEWEST = 1
_FIRST_FLEXIBLE = 1
_BEFORE_PARTITIONS = Struct(">hqhib")
_AFTER_PARTITIONS = Struct(">qq")
_NO_TOPICS = b"\x01"
_USUAL_TAGS = Struct(">BBBqBBh")
"""The number of tags, and for each its number, its size and its value."""
_TAGS = (
    (0, INT64, "previous_producer_id", NO_PRODUCER_ID),
    (1, INT64, "next_producer_id", NO_PRODUCER_ID),
    (2, INT16, "client_version", 0),
    (3, INT16, "next_producer_epoch", NO_PRODUCER_EPOCH),
)


def encode_transaction_records(
    records: Iterable[TransactionRecord], *, version: int = WRITTEN_VERSION
) -> list[tuple[bytes, bytes | None]]:
    return [
        (
            _encode_key(transactional_id),
            None if transaction is None else _encode_value(transaction, version),
        )
        for transaction, transactional_id in records
    ]


@lru_cache(maxsize=1024)
def _encode_key(transactional_id: str) -> bytes:
    return encode_key(_TRANSACTION_LOG, transactional_id)


def _encode_value(transaction: Transaction, version: int) -> bytes:
    flexible = version >= _FIRST_FLEXIBLE
    return b"".join(
        (
            _BEFORE_PARTITIONS.pack(
                version,
                transaction.producer_id,
                transaction.producer_epoch,
                transaction.timeout_ms,
                transaction.state,
            ),
            _encode_partitions(transaction, flexible),
            _AFTER_PARTITIONS.pack(transaction.update_ms, transaction.start_ms),
            _encode_tags(transaction) if flexible else b"",
        )
    )


def _encode_tags(transaction: Transaction) -> bytes:
    previous_id, client_version = transaction.previous_producer_id, transaction.client_version
    if (
        transaction.next_producer_id == NO_PRODUCER_ID
        and transaction.next_producer_epoch == NO_PRODUCER_EPOCH
        and previous_id != NO_PRODUCER_ID
        and client_version
    ):
        # Nearly every record of a client of version 2.
        return _USUAL_TAGS.pack(2, 0, INT64.size, previous_id, 2, INT16.size, client_version)
    return tagged_fields(
        (tag, form.pack(getattr(transaction, name)))
        for tag, form, name, default in _TAGS
        if getattr(transaction, name) != default
    )


@lru_cache(maxsize=1024)
def _encode_only_partition(topic_partition: TopicPartition) -> bytes:
    return compact_array(
        [compact_string(topic_partition.topic) + compact_int32s([topic_partition.partition]) + NO_TAGS]
    )


def _encode_partitions(transaction: Transaction, flexible: bool) -> bytes:
    if transaction.state is TransactionState.EMPTY:
        return b"\x00" if flexible else INT32.pack(-1)
    partitions = transaction.partitions
    if flexible and len(partitions) <= 1:
        return _encode_only_partition(*partitions) if partitions else _NO_TOPICS
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(partitions):
        topics[topic].append(partition)
    if flexible:
        return compact_array(
            [compact_string(topic) + compact_int32s(ids) + NO_TAGS for topic, ids in topics.items()]
        )
    parts = [INT32.pack(len(topics))]
    for topic, ids in topics.items():
        parts += (classic_string(topic), INT32.pack(len(ids)), *map(INT32.pack, ids))
    return b"".join(parts)


def decode_transaction_record(key: bytes, value: bytes | None) -> TransactionRecord | None:
    """Returns None for an unknown key type or an unknown version of the value: Kafka skips these too."""
    reader = FieldReader(key)
    if reader.int16() != _TRANSACTION_LOG:
        return None
    transactional_id = reader.string()
    if value is None:
        return TransactionRecord(None, transactional_id)
    fields = FieldReader(value)
    version = fields.int16()
    if not 0 <= version <= _NEWEST:
        return None
    transaction = _decode_value(transactional_id, fields, flexible=version >= _FIRST_FLEXIBLE)
    return TransactionRecord(transaction, transactional_id)


def _decode_value(transactional_id: str, reader: FieldReader, *, flexible: bool) -> Transaction:
    producer_id, epoch, timeout_ms = reader.int64(), reader.int16(), reader.int32()
    state = _state(reader.int8())
    partitions = _decode_partitions(reader, flexible=flexible)
    update_ms, start_ms = reader.int64(), reader.int64()
    tags = _decode_tags(reader) if flexible else {}
    return Transaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        timeout_ms=timeout_ms,
        state=state,
        partitions=frozenset() if state is TransactionState.EMPTY else partitions,
        update_ms=update_ms,
        start_ms=start_ms,
        **tags,
    )


def _decode_tags(reader: FieldReader) -> dict[str, int]:
    found = reader.tags()
    return {
        name: found[tag].int64() if form is INT64 else found[tag].int16()
        for tag, form, name, _ in _TAGS
        if tag in found
    }


def _state(number: int) -> TransactionState:
    try:
        return TransactionState(number)
    except ValueError:
        raise CorruptMessage(f"{number} is no state of a transaction") from None


def _decode_partitions(reader: FieldReader, *, flexible: bool) -> frozenset[TopicPartition]:
    count = reader.unsigned_varint() - 1 if flexible else reader.int32()
    found: set[TopicPartition] = set()
    for _ in range(count):
        topic = reader.string(flexible=flexible)
        ids = reader.array(FieldReader.int32, flexible=flexible)
        found.update(TopicPartition(topic, partition) for partition in ids)
        if flexible:
            reader.tags()
    return frozenset(found)
