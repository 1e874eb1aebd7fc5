"""The Metadata response, versions 0 to 13, by hand.

A client may request every partition of the cluster. kio takes about 80 ms to write 5,000 of them, all on
the event loop; this takes a tenth. Fields as in any `Reply`; tested equal to kio.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.base.ids import ZERO_UUID
from barnabas.wire.primitives import INT32, compact_string, legacy_string, write_unsigned_varint
from barnabas.wire.reply import Reply

API_KEY = 3
FIRST_FLEXIBLE = 9
_FIRST_WITH_THROTTLE = 3
_FIRST_WITH_OFFLINE = 5
_FIRST_WITH_EPOCHS = 7
_FIRST_WITH_OPERATIONS = 8
_FIRST_WITH_TOPIC_IDS = 10
_LAST_WITH_CLUSTER_OPERATIONS = 10
_FIRST_WITH_ERROR = 13
_NOT_REQUESTED = -(1 << 31)

_PARTITION = struct.Struct(">hii")
_PARTITION_WITH_EPOCH = struct.Struct(">hiii")
_ERROR = struct.Struct(">h")


def encode_metadata(version: int, correlation_id: int, reply: Reply) -> bytes:
    """Header and body, without the length that frames them."""
    writer = _Writer(version)
    parts = [INT32.pack(correlation_id) + writer.no_tags]
    if version >= _FIRST_WITH_THROTTLE:
        parts.append(INT32.pack(_get(reply, "throttle_time", 0)))
    parts += writer.array(writer.broker, _get(reply, "brokers", ()))
    if version >= 2:
        parts.append(writer.string(_get(reply, "cluster_id", None)))
    if version >= 1:
        parts.append(INT32.pack(_get(reply, "controller_id", -1)))
    parts += writer.array(writer.topic, _get(reply, "topics", ()))
    if _FIRST_WITH_OPERATIONS <= version <= _LAST_WITH_CLUSTER_OPERATIONS:
        parts.append(INT32.pack(_get(reply, "cluster_authorized_operations", _NOT_REQUESTED)))
    if version >= _FIRST_WITH_ERROR:
        parts.append(_ERROR.pack(_get(reply, "error_code", 0)))
    parts.append(writer.no_tags)
    return b"".join(parts)


def _get(reply: Reply, name: str, default: Any) -> Any:
    return vars(reply).get(name, default)


class _Writer:
    """Writes in one version. Partitions with the same replicas share their bytes."""

    __slots__ = ("_brokers", "_version", "no_tags", "string")

    def __init__(self, version: int) -> None:
        self._version: int = version
        self._brokers: dict[Sequence[int], bytes] = {}
        self.no_tags: bytes = b"\x00" if version >= FIRST_FLEXIBLE else b""
        self.string = compact_string if version >= FIRST_FLEXIBLE else legacy_string

    def array(self, write: Any, elements: Sequence[Any]) -> Iterable[bytes]:
        yield self._count(len(elements))
        for element in elements:
            yield write(element)

    def _count(self, count: int) -> bytes:
        return write_unsigned_varint(count + 1) if self._version >= FIRST_FLEXIBLE else INT32.pack(count)

    def broker(self, broker: Reply) -> bytes:
        parts = INT32.pack(broker.node_id) + self.string(broker.host) + INT32.pack(broker.port)
        if self._version >= 1:
            parts += self.string(_get(broker, "rack", None))
        return parts + self.no_tags

    def topic(self, topic: Reply) -> bytes:
        version = self._version
        parts = [_ERROR.pack(topic.error_code), self.string(topic.name)]
        if version >= _FIRST_WITH_TOPIC_IDS:
            parts.append((_get(topic, "topic_id", None) or ZERO_UUID).bytes)
        if version >= 1:
            parts.append(b"\x01" if _get(topic, "is_internal", False) else b"\x00")
        parts += self.array(self.partition, _get(topic, "partitions", ()))
        if version >= _FIRST_WITH_OPERATIONS:
            parts.append(INT32.pack(_get(topic, "topic_authorized_operations", _NOT_REQUESTED)))
        parts.append(self.no_tags)
        return b"".join(parts)

    def partition(self, partition: Reply) -> bytes:
        given, version, ids = vars(partition), self._version, self._broker_ids
        if version >= _FIRST_WITH_EPOCHS:
            head = _PARTITION_WITH_EPOCH.pack(
                given["error_code"], given["partition_index"], given["leader_id"], given["leader_epoch"]
            )
        else:
            head = _PARTITION.pack(given["error_code"], given["partition_index"], given["leader_id"])
        body = head + ids(given["replica_nodes"]) + ids(given["isr_nodes"])
        if version >= _FIRST_WITH_OFFLINE:
            body += ids(given["offline_replicas"])
        return body + self.no_tags

    def _broker_ids(self, ids: Sequence[int]) -> bytes:
        written = self._brokers.get(ids)
        if written is None:
            written = self._brokers[ids] = self._count(len(ids)) + struct.pack(f">{len(ids)}i", *ids)
        return written
