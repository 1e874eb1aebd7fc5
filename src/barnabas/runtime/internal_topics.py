"""The internal topics of the coordinators: names and creation settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.base.config.broker_config import BrokerConfig

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
_USUAL_REPLICAS = 3


@dataclass(frozen=True, slots=True)
class InternalTopic:
    name: str
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]


def consumer_offsets(config: BrokerConfig, brokers_alive: int) -> InternalTopic:
    return InternalTopic(
        CONSUMER_OFFSETS,
        config.offsets_topic_num_partitions,
        _replicas(config, "offsets.topic.replication.factor", brokers_alive),
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )


def transaction_state(config: BrokerConfig, brokers_alive: int) -> InternalTopic:
    replicas = _replicas(config, "transaction.state.log.replication.factor", brokers_alive)
    return InternalTopic(
        TRANSACTION_STATE,
        _number(config, "transaction.state.log.num.partitions"),
        replicas,
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(config.get("transaction.state.log.min.isr")),
            "segment.bytes": str(config.get("transaction.state.log.segment.bytes")),
            "unclean.leader.election.enable": "false",
        },
    )


def _replicas(config: BrokerConfig, key: str, brokers_alive: int) -> int:
    """The configured replication factor. The default of 3 applies only if there are three live brokers."""
    if config.is_set(key):
        return _number(config, key)
    return max(1, min(_USUAL_REPLICAS, brokers_alive))


def _number(config: BrokerConfig, key: str) -> int:
    value: Any = config.get(key)
    return int(value)
