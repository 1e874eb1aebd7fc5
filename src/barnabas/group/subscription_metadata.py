"""A hash that changes with the topics of a group's subscription: KIP-1101's metadata hash.

It is stored in the group's metadata record. After a change of the cluster, and after a restart, the
coordinator computes it again and bumps the group epoch if it differs: a topic was created, deleted or
recreated, got partitions, or moved to other racks.

The hash is stable between processes. It is not Kafka's (XXH3, which no dependency provides): a group taken
over from Kafka is rebalanced once.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from struct import Struct

from barnabas.metadata.image import ClusterImage, TopicImage

_LAYOUT_VERSION = b"\x00"
"""Changes with the hashed content and the algorithm."""

_LENGTH = Struct(">I")

_NO_RACKS = _LENGTH.pack(0)


def metadata_hash(image: ClusterImage, topic_names: Iterable[str]) -> int:
    """Signed, 64 bits. 0 if none of the topics exists. The order of the names does not matter."""
    topics = [topic for name in sorted(set(topic_names)) if (topic := image.topics.get(name)) is not None]
    if not topics:
        return 0
    racks = {broker.id: _framed(broker.rack) for broker in image.brokers.values() if broker.rack is not None}
    digest = blake2b(_LAYOUT_VERSION, digest_size=8)
    for topic in topics:
        digest.update(_framed(topic.name))
        digest.update(topic.topic_id.bytes)
        digest.update(_LENGTH.pack(len(topic.partitions)))
        digest.update(_racks_of_partitions(topic, racks) if racks else _NO_RACKS)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _racks_of_partitions(topic: TopicImage, racks: Mapping[int, bytes]) -> bytes:
    # Partitions share few sets of replicas. Each set is looked up once.
    by_replicas: dict[tuple[int, ...], bytes] = {}
    parts: list[bytes] = []
    for partition in topic.partitions.values():
        framed = by_replicas.get(partition.replicas)
        if framed is None:
            found = sorted(racks[broker_id] for broker_id in partition.replicas if broker_id in racks)
            framed = by_replicas[partition.replicas] = _LENGTH.pack(len(found)) + b"".join(found)
        parts.append(framed)
    # Racks of brokers without a replica of the topic are not included.
    blob = b"".join(parts) if any(part != _NO_RACKS for part in by_replicas.values()) else b""
    return _LENGTH.pack(len(blob)) + blob


def _framed(text: str) -> bytes:
    encoded = text.encode()
    return _LENGTH.pack(len(encoded)) + encoded
