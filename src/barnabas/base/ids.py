"""Names of things: topic partitions and Kafka's UUIDs.

Kafka writes a UUID as 22 characters of URL-safe base64 without padding (`partition.metadata`,
`meta.properties`, the `topic_id` of a topic's node). In memory an id is a plain `uuid.UUID`.
"""

import base64
import binascii
from random import Random, SystemRandom
from typing import NamedTuple
from uuid import UUID

ZERO_UUID = UUID(int=0)
_RANDOM = SystemRandom()
_RESERVED = frozenset({UUID(int=0), UUID(int=1)})


class TopicPartition(NamedTuple):
    """One partition of one topic; also the name of its directory."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def encode_uuid(value: UUID) -> str:
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode("ascii")


def decode_uuid(text: str) -> UUID:
    """Read Kafka's form of a UUID; raises ValueError when it is not one."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"not a base64 UUID: {text!r}") from error
    if len(raw) != 16:
        raise ValueError(f"not a base64 UUID: {text!r}")
    return UUID(bytes=raw)


def any_uuid(rng: Random = _RANDOM) -> UUID:
    return UUID(int=rng.getrandbits(128), version=4)


def random_uuid(rng: Random = _RANDOM) -> UUID:
    """A fresh id whose text never starts with a dash, so that it can be given to a command line."""
    while True:
        value = any_uuid(rng)
        if value not in _RESERVED and not encode_uuid(value).startswith("-"):
            return value
