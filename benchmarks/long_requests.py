"""Requests that name very many things, encoded by hand: what a stranger could stall a broker with.

Each function returns one whole frame.
"""

from __future__ import annotations

import struct

from benchmarks.batches import uvarint
from benchmarks.protocol import NO_TAGS, encoded_array, encoded_request, encoded_string

_NULL = b"\x00"
_BROKER, _TOPIC = b"\x04", b"\x02"


def describe_configs(count: int, broker_id: int, *, include_documentation: bool = True) -> bytes:
    """DescribeConfigs v4 that names one broker `count` times."""
    resource = _BROKER + encoded_string(str(broker_id)) + _NULL + NO_TAGS
    flags = b"\x01" + bytes([include_documentation])
    return encoded_request(32, 4, encoded_array([resource] * count) + flags + NO_TAGS)


def describe_groups(count: int) -> bytes:
    """DescribeGroups v5 of `count` empty group ids."""
    return encoded_request(15, 5, uvarint(count + 1) + b"\x01" * count + b"\x00" + NO_TAGS)


def create_topics(count: int, *, validate_only: bool, prefix: str = "many") -> bytes:
    """CreateTopics v7 of `count` topics with one partition each."""
    topics = encoded_array(
        encoded_string(f"{prefix}-{number}") + struct.pack(">ih", 1, 1) + b"\x01\x01" + NO_TAGS
        for number in range(count)
    )
    return encoded_request(19, 7, topics + struct.pack(">i?", 60_000, validate_only) + NO_TAGS)


def delete_topics(count: int, prefix: str = "many") -> bytes:
    """DeleteTopics v4 of what `create_topics` created."""
    names = encoded_array(encoded_string(f"{prefix}-{number}") for number in range(count))
    return encoded_request(20, 4, names + struct.pack(">i", 60_000) + NO_TAGS)


def alter_broker_default(key: str, value: str) -> bytes:
    """IncrementalAlterConfigs v1 of the default of all brokers."""
    config = encoded_string(key) + b"\x00" + encoded_string(value) + NO_TAGS
    resource = _BROKER + encoded_string("") + encoded_array([config]) + NO_TAGS
    return encoded_request(44, 1, encoded_array([resource]) + b"\x00" + NO_TAGS)


def list_transactions(pattern: str) -> bytes:
    """ListTransactions v2 with a pattern for the transactional ids."""
    empty = uvarint(1)
    return encoded_request(66, 2, empty + empty + struct.pack(">q", -1) + encoded_string(pattern) + NO_TAGS)


def metadata(count: int, *, may_create: bool = False) -> bytes:
    """Metadata v9 of `count` topics that do not exist."""
    topics = encoded_array(encoded_string(f"unknown-{number}") + NO_TAGS for number in range(count))
    return encoded_request(3, 9, topics + bytes([may_create]) + b"\x00\x00" + NO_TAGS)


def metadata_of_all() -> bytes:
    """Metadata v9 of every topic."""
    return encoded_request(3, 9, _NULL + b"\x00\x00\x00" + NO_TAGS)


def list_offsets(topic: str, count: int, timestamp: int = -1) -> bytes:
    """ListOffsets v7 that names one partition `count` times, for a timestamp (-1: the end)."""
    partition = struct.pack(">iiq", 0, -1, timestamp) + NO_TAGS
    partitions = uvarint(count + 1) + partition * count
    topics = encoded_array([encoded_string(topic) + partitions + NO_TAGS])
    return encoded_request(2, 7, struct.pack(">ib", -1, 0) + topics + NO_TAGS)


def offset_fetch(topic: str, count: int) -> bytes:
    """OffsetFetch v8 of one group and `count` partitions."""
    numbers = uvarint(count + 1) + struct.pack(f">{count}i", *range(count))
    topics = encoded_array([encoded_string(topic) + numbers + NO_TAGS])
    group = encoded_string("group") + topics + NO_TAGS
    return encoded_request(9, 8, encoded_array([group]) + b"\x00" + NO_TAGS)


def offset_commit(topic: str, count: int) -> bytes:
    """OffsetCommit v8 of one group and `count` partitions."""
    partitions = encoded_array(
        struct.pack(">iqi", number, 1, -1) + _NULL + NO_TAGS for number in range(count)
    )
    topics = encoded_array([encoded_string(topic) + partitions + NO_TAGS])
    head = encoded_string("group") + struct.pack(">i", -1) + encoded_string("") + _NULL
    return encoded_request(8, 8, head + topics + NO_TAGS)


def fetch(
    topic: str, partition_count: int, *, times: int = 1, max_wait_ms: int = 500, max_bytes: int = 1 << 20
) -> bytes:
    """Fetch v12, read_committed, of the first partitions of a topic, each named `times` times."""
    partitions = b"".join(
        struct.pack(">iiqiqi", number, -1, 0, -1, -1, max_bytes) + NO_TAGS
        for _ in range(times)
        for number in range(partition_count)
    )
    count = uvarint(partition_count * times + 1)
    topics = encoded_array([encoded_string(topic) + count + partitions + NO_TAGS])
    head = struct.pack(">iiiibii", -1, max_wait_ms, 1, 50 << 20, 1, 0, -1)
    return encoded_request(1, 12, head + topics + uvarint(1) + encoded_string("") + NO_TAGS)


def describe_topic_configs(count: int, topic: str) -> bytes:
    """DescribeConfigs v4, with documentation, that names one topic `count` times."""
    resource = _TOPIC + encoded_string(topic) + _NULL + NO_TAGS
    return encoded_request(32, 4, encoded_array([resource] * count) + b"\x01\x01" + NO_TAGS)
