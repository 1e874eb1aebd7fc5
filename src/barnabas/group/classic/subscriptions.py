"""The topics of a classic group's members, parsed from the subscriptions that consumers join with.

Only the beginning of a subscription is parsed, in its oldest version. Every newer version starts with the
same fields (ConsumerProtocolSubscription: version int16, topics as an array with an int32 size of names with
an int16 size each), so future clients are supported too.
"""

import struct
from collections.abc import Iterable

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of consumers. Kafka Connect and others have their own, whose bytes are not parsed."""

_HEAD = struct.Struct(">hi")
_SIZE = struct.Struct(">h")


class MalformedSubscription(ValueError):
    """The bytes are not a subscription."""


def subscribed_topics(metadata: bytes) -> frozenset[str]:
    """Raises `MalformedSubscription`."""
    try:
        _, count = _HEAD.unpack_from(metadata)
        if not 0 <= count <= len(metadata):
            raise MalformedSubscription(f"{count} topics in {len(metadata)} bytes")
        position = _HEAD.size
        topics = []
        for _ in range(count):
            (size,) = _SIZE.unpack_from(metadata, position)
            position += _SIZE.size
            end = position + size
            if size < 0 or end > len(metadata):
                raise MalformedSubscription(f"a name of {size} bytes at {position} of {len(metadata)}")
            topics.append(metadata[position:end].decode())
            position = end
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedSubscription(str(error)) from error
    return frozenset(topics)


def all_subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str]:
    """Returns the topics that any member is subscribed to. Raises `MalformedSubscription`."""
    return frozenset().union(*map(subscribed_topics, subscriptions))
