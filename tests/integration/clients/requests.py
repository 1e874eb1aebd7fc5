"""The requests that the raw tests send, with everything but the point of the test filled in."""

import struct
import uuid
from collections.abc import Sequence
from typing import Any

from tests.integration.clients.messages import now_ms
from tests.integration.clients.raw import RawClient

from barnabas.records.batch import iter_headers
from barnabas.records.builder import build_batch
from barnabas.records.record import Record, decode_records

PRODUCE_BY_NAME = 9
FETCH_BY_NAME = 12
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3


def batch(*values: bytes, key: bytes | None = b"k", **options: Any) -> bytes:
    """A batch of records with these values, now."""
    timestamp = options.pop("timestamp", None)
    now = now_ms() if timestamp is None else timestamp
    records = [Record(index, now + index, key, value, ()) for index, value in enumerate(values)]
    return build_batch(records, **options)


def topic_id(client: RawClient, topic: str) -> uuid.UUID:
    requested = [{"topic_id": None, "name": topic}]
    (described,) = client.call(
        "metadata",
        12,
        topics=requested,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    ).topics
    assert described.error_code == 0
    found: uuid.UUID = described.topic_id
    return found


def produce_fields(
    topic: str,
    records: bytes | None,
    *,
    partition: int = 0,
    acks: int = -1,
    number: uuid.UUID | None = None,
) -> dict[str, object]:
    partitions = [{"index": partition, "records": records}]
    return {
        "transactional_id": None,
        "acks": acks,
        "timeout": 10_000,
        "topic_data": [{"name": topic, "topic_id": number, "partition_data": partitions}],
    }


def produce(client: RawClient, topic: str, records: bytes | None, **options: Any) -> Any:
    """The answer for the one partition."""
    version = options.pop("version", PRODUCE_BY_NAME)
    answer = client.call("produce", version, **produce_fields(topic, records, **options))
    return answer.responses[0].partition_responses[0]


def fetch_fields(topic: str, offsets: Sequence[tuple[int, int]], **options: Any) -> dict[str, object]:
    """Fetch from each (partition, offset)."""
    partition_max_bytes = options.pop("partition_max_bytes", 1 << 20)
    number = options.pop("number", None)
    partitions = [
        {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": partition_max_bytes,
            "current_leader_epoch": options.get("leader_epoch", -1),
        }
        for partition, offset in offsets
    ]
    return {
        "replica_id": -1,
        "max_wait": options.get("max_wait", 0),
        "min_bytes": options.get("min_bytes", 1),
        "max_bytes": options.get("max_bytes", 50 << 20),
        "isolation_level": options.get("isolation", 0),
        "session_id": options.get("session_id", 0),
        "session_epoch": options.get("session_epoch", -1),
        "topics": [{"topic": topic, "topic_id": number, "partitions": partitions}] if partitions else [],
        "forgotten_topics_data": options.get("forgotten", []),
        "rack_id": options.get("rack", ""),
    }


def fetch_all(client: RawClient, topic: str, offsets: Sequence[tuple[int, int]], **options: Any) -> Any:
    """The whole answer."""
    version = options.pop("version", FETCH_BY_NAME)
    return client.call("fetch", version, **fetch_fields(topic, offsets, **options))


def fetch(client: RawClient, topic: str, offset: int, *, partition: int = 0, **options: Any) -> Any:
    """The answer for one partition."""
    answer = fetch_all(client, topic, [(partition, offset)], **options)
    assert getattr(answer, "error_code", 0) == 0  # since version 7
    return answer.responses[0].partitions[0]


def list_offset(
    client: RawClient, topic: str, timestamp: int = LATEST, *, partition: int = 0, isolation: int = 0
) -> Any:
    partitions = [{"partition_index": partition, "timestamp": timestamp}]
    topics = [{"name": topic, "partitions": partitions}]
    answer = client.call("list_offsets", 7, replica_id=-1, isolation_level=isolation, topics=topics)
    return answer.topics[0].partitions[0]


def end_offset(client: RawClient, topic: str, partition: int = 0) -> int:
    found = list_offset(client, topic, partition=partition)
    assert found.error_code == 0
    offset: int = found.offset
    return offset


def values_in(records: bytes | None) -> list[bytes | None]:
    """The values of all records of these batches."""
    stored = records or b""
    found: list[bytes | None] = []
    for position, header in iter_headers(stored):
        found += [record.value for record in decode_records(stored[position : position + header.size])]
    return found


def whole_batches(records: bytes) -> bytes:
    """Without a batch that was cut off at the end, as a client leaves it out."""
    position = 0
    while position + 12 <= len(records):
        (size,) = struct.unpack_from(">i", records, position + 8)
        if position + 12 + size > len(records):
            break
        position += 12 + size
    return records[:position]
