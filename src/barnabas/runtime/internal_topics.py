"""The internal topics of the coordinators: names and creation settings.

The replication factor is the configured one. If it is not configured: 3, as in Kafka, for a broker whose
metadata store lies outside of its log directories (it is made to be shared, and other brokers may not have
started yet); else as many as there are registered brokers, up to 3, so that a broker alone needs no setting.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.base.config.broker_config import BrokerConfig

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
_USUAL_REPLICAS = 3
_OFFSETS_FACTOR = "offsets.topic.replication.factor"
_TRANSACTIONS_FACTOR = "transaction.state.log.replication.factor"


@dataclass(frozen=True, slots=True)
class InternalTopic:
    name: str
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]
    factor_key: str
    """The setting of the replication factor."""


def consumer_offsets(config: BrokerConfig, registered: int) -> InternalTopic:
    return InternalTopic(
        CONSUMER_OFFSETS,
        config.offsets_topic_num_partitions,
        _replicas(config, _OFFSETS_FACTOR, registered),
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
        _OFFSETS_FACTOR,
    )


def transaction_state(config: BrokerConfig, registered: int) -> InternalTopic:
    replicas = _replicas(config, _TRANSACTIONS_FACTOR, registered)
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
        _TRANSACTIONS_FACTOR,
    )


def _replicas(config: BrokerConfig, key: str, registered: int) -> int:
    if config.is_set(key):
        return _number(config, key)
    return _USUAL_REPLICAS if _is_shared_store(config) else max(1, min(_USUAL_REPLICAS, registered))


def _is_shared_store(config: BrokerConfig) -> bool:
    if not config.is_set("barnabas.metadata.store.path"):
        return False
    return not any(config.metadata_store_path.is_relative_to(path) for path in config.log_dirs)


def _number(config: BrokerConfig, key: str) -> int:
    value: Any = config.get(key)
    return int(value)
