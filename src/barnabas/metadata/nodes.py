"""The content of the nodes: JSON as Kafka's ZooKeeper mode wrote it, and its older versions.

Written: brokers version 5, topics version 3 (with topic id), partition states, configurations and the
controller version 1, cluster id version "1". Read: also brokers 1 to 4 (version 1 has host and port only),
topics 1 and 2, and a controller that is a bare number. Other bytes raise NodeError, which names the path.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from barnabas.base.config.listeners import Listener
from barnabas.base.ids import ZERO_UUID, decode_uuid, encode_uuid
from barnabas.metadata.store import StoreError

T = TypeVar("T")


class NodeError(StoreError):
    """A node holds bytes that Barnabas cannot read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the metadata at {path} cannot be read: {reason}")


@dataclass(frozen=True, slots=True)
class BrokerNode:
    listeners: tuple[Listener, ...]
    """The advertised listeners."""
    rack: str | None = None
    timestamp_ms: int = 0
    jmx_port: int = -1


@dataclass(frozen=True, slots=True)
class TopicNode:
    topic_id: UUID
    """ZERO_UUID for a topic written before topic ids (KIP-516)."""
    assignment: Mapping[int, tuple[int, ...]]
    adding: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    removing: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateNode:
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    elr: tuple[int, ...] = ()
    """Eligible leader replicas (KIP-966): they left the ISR and still have every committed record."""
    last_known_elr: tuple[int, ...] = ()
    """The last leader of a partition that has none."""
    is_recovering: bool = False
    """The leader was elected outside of the ISR and ELR, and has not finished its recovery (KIP-704)."""


@dataclass(frozen=True, slots=True)
class RegistrationNode:
    """What outlives the session of a broker: `/barnabas/registrations/N`."""

    listeners: tuple[Listener, ...]
    rack: str | None
    software: str
    """The version of Barnabas that the broker runs."""
    incarnation: UUID
    """Of the broker's process."""
    is_unclean: bool
    """The logs of the broker may have lost their ends since its last registration."""
    active_epoch: int = -1
    """The broker epoch that the controller has activated. A broker with another epoch is fenced."""
    is_shutting_down: bool = False
    offline_replicas: frozenset[tuple[UUID, int]] = frozenset()
    """Topic id and partition of each replica whose log directory has failed."""


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    broker: int
    first: int
    last: int


def read(path: str, data: bytes, decode: Callable[[bytes], T]) -> T:
    """Decode a node's bytes. Any error becomes a NodeError that names the path."""
    try:
        return decode(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NodeError(path, f"{type(error).__name__}: {error}") from error


def _load(data: bytes) -> Any:
    # Decoded here, because json would first detect the encoding.
    return json.loads(data.decode())


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


# Brokers


def encode_broker(node: BrokerNode) -> bytes:
    plaintext = next((one for one in node.listeners if one.security_protocol == "PLAINTEXT"), None)
    value: dict[str, Any] = {
        "listener_security_protocol_map": {one.name: one.security_protocol for one in node.listeners},
        "endpoints": [str(listener) for listener in node.listeners],
        "jmx_port": node.jmx_port,
        "features": {},
        "host": plaintext.host if plaintext else None,
        "timestamp": str(node.timestamp_ms),
        "port": plaintext.port if plaintext else -1,
        "version": 5,
    }
    if node.rack is not None:
        value["rack"] = node.rack
    return _dump(value)


def decode_broker(data: bytes) -> BrokerNode:
    value = _load(data)
    version = value["version"]
    if not 1 <= version <= 5:
        raise ValueError(f"version {version} of a broker's registration is unknown")
    protocols = value.get("listener_security_protocol_map", {})
    listeners: tuple[Listener, ...]
    if version == 1:
        listeners = (Listener("PLAINTEXT", "PLAINTEXT", value["host"], int(value["port"])),)
    else:
        listeners = tuple(_decode_endpoint(text, protocols) for text in value["endpoints"])
    return BrokerNode(listeners, value.get("rack"), int(value.get("timestamp", 0)), value.get("jmx_port", -1))


def encode_registration(node: RegistrationNode) -> bytes:
    value: dict[str, Any] = {
        "version": 1,
        "listener_security_protocol_map": {one.name: one.security_protocol for one in node.listeners},
        "endpoints": [str(listener) for listener in node.listeners],
        "software": node.software,
        "incarnation": encode_uuid(node.incarnation),
        "unclean": node.is_unclean,
        "active_epoch": node.active_epoch,
        "shutting_down": node.is_shutting_down,
    }
    if node.rack is not None:
        value["rack"] = node.rack
    if node.offline_replicas:
        offline: dict[str, list[int]] = {}
        for topic_id, partition in sorted(node.offline_replicas):
            offline.setdefault(encode_uuid(topic_id), []).append(partition)
        value["offline_replicas"] = offline
    return _dump(value)


def decode_registration(data: bytes) -> RegistrationNode:
    value = _load(data)
    if value["version"] != 1:
        raise ValueError(f"version {value['version']} of a registration is unknown")
    protocols = value["listener_security_protocol_map"]
    return RegistrationNode(
        tuple(_decode_endpoint(text, protocols) for text in value["endpoints"]),
        value.get("rack"),
        value["software"],
        decode_uuid(value["incarnation"]),
        value["unclean"],
        value["active_epoch"],
        value["shutting_down"],
        frozenset(
            (decode_uuid(topic_id), partition)
            for topic_id, partitions in value.get("offline_replicas", {}).items()
            for partition in partitions
        ),
    )


def _decode_endpoint(text: str, protocols: Mapping[str, str]) -> Listener:
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon:
        raise ValueError(f"not an endpoint: {text!r}")
    host = host.removeprefix("[").removesuffix("]")
    return Listener(name, protocols.get(name, name), host, int(port))


# Topics and partitions


def encode_topic(node: TopicNode) -> bytes:
    return _dump(
        {
            "removing_replicas": _encode_assignment(node.removing),
            "partitions": _encode_assignment(node.assignment),
            "topic_id": encode_uuid(node.topic_id),
            "adding_replicas": _encode_assignment(node.adding),
            "version": 3,
        }
    )


def _encode_assignment(assignment: Mapping[int, Sequence[int]]) -> dict[str, list[int]]:
    return {str(partition): list(replicas) for partition, replicas in assignment.items()}


def decode_topic(data: bytes) -> TopicNode:
    value = _load(data)
    if not 1 <= value["version"] <= 3:
        raise ValueError(f"version {value['version']} of a topic is unknown")
    topic_id = value.get("topic_id")
    return TopicNode(
        ZERO_UUID if topic_id is None else decode_uuid(topic_id),
        _decode_assignment(value["partitions"]),
        _decode_assignment(value.get("adding_replicas", {})),
        _decode_assignment(value.get("removing_replicas", {})),
    )


def _decode_assignment(value: Mapping[str, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    return {int(partition): tuple(replicas) for partition, replicas in value.items()} if value else {}


def encode_state(node: StateNode) -> bytes:
    # Built by hand: an unclean start writes thousands of these, and json.dumps takes four times as long.
    isr = ",".join(map(str, node.isr))
    return (
        f'{{"controller_epoch":{node.controller_epoch},"leader":{node.leader},"version":1,'
        f'"leader_epoch":{node.leader_epoch},"isr":[{isr}]{_encode_recovery(node)}}}'
    ).encode()


def _encode_recovery(node: StateNode) -> str:
    """The fields that ZooKeeper mode did not have. Left out when they are empty."""
    if not (node.elr or node.last_known_elr or node.is_recovering):
        return ""
    text = ',"leader_recovery_state":1' if node.is_recovering else ""
    if node.elr:
        text += f',"elr":[{",".join(map(str, node.elr))}]'
    if node.last_known_elr:
        text += f',"last_known_elr":[{",".join(map(str, node.last_known_elr))}]'
    return text


@lru_cache(maxsize=1024)  # Most of thousands of partitions are equal: the same leader, first epoch.
def decode_state(data: bytes) -> StateNode:
    value = _load(data)
    return StateNode(
        value["leader"],
        value["leader_epoch"],
        tuple(value["isr"]),
        value.get("controller_epoch", 0),
        tuple(value.get("elr", ())),
        tuple(value.get("last_known_elr", ())),
        value.get("leader_recovery_state", 0) == 1,
    )


# Configurations


_NO_CONFIG = b'{"version":1,"config":{}}'


def encode_config(configs: Mapping[str, str]) -> bytes:
    return _dump({"version": 1, "config": dict(configs)})


def decode_config(data: bytes) -> dict[str, str]:
    if not data or data == _NO_CONFIG:
        return {}
    value = _load(data)
    return {str(name): str(setting) for name, setting in value.get("config", {}).items()}


# The cluster


def encode_controller(broker_id: int, timestamp_ms: int) -> bytes:
    return _dump({"version": 1, "brokerid": broker_id, "timestamp": str(timestamp_ms)})


def decode_controller(data: bytes) -> int:
    value = _load(data)
    return value if isinstance(value, int) else int(value["brokerid"])


def encode_controller_epoch(epoch: int) -> bytes:
    return str(epoch).encode()


def decode_controller_epoch(data: bytes) -> int:
    return int(data)


def encode_cluster_id(cluster_id: str) -> bytes:
    return _dump({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    return str(_load(data)["id"])


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    return _dump(
        {"version": 1, "broker": block.broker, "block_start": str(block.first), "block_end": str(block.last)}
    )


def decode_producer_id_block(data: bytes) -> ProducerIdBlock:
    value = _load(data)
    return ProducerIdBlock(int(value["broker"]), int(value["block_start"]), int(value["block_end"]))
