"""Group settings: the broker's values, and the values of single groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.base.config.broker_config import BrokerConfig

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class GroupSettings:
    max_size: int
    initial_rebalance_delay_ms: int
    min_session_timeout_ms: int
    max_session_timeout_ms: int
    offset_metadata_max_bytes: int
    offsets_retention_ms: int
    rebalance_protocols: frozenset[str]
    """`group.coordinator.rebalance.protocols`, in lower case: "classic", "consumer"."""
    consumer_max_size: int
    consumer_session_timeout_ms: int
    consumer_heartbeat_interval_ms: int
    consumer_assignment_interval_ms: int
    consumer_assignors: tuple[str, ...]
    """The first one is the default."""
    consumer_migration_policy: str
    """"bidirectional", "upgrade", "downgrade" or "disabled"."""
    consumer_regex_refresh_interval_ms: int


def settings_of(config: BrokerConfig) -> GroupSettings:
    def value(name: str) -> Any:
        return config.get(name)

    return GroupSettings(
        max_size=value("group.max.size"),
        initial_rebalance_delay_ms=value("group.initial.rebalance.delay.ms"),
        min_session_timeout_ms=value("group.min.session.timeout.ms"),
        max_session_timeout_ms=value("group.max.session.timeout.ms"),
        offset_metadata_max_bytes=value("offset.metadata.max.bytes"),
        offsets_retention_ms=value("offsets.retention.minutes") * _MINUTE_MS,
        rebalance_protocols=frozenset(
            str(name).lower() for name in value("group.coordinator.rebalance.protocols")
        ),
        consumer_max_size=value("group.consumer.max.size"),
        consumer_session_timeout_ms=value("group.consumer.session.timeout.ms"),
        consumer_heartbeat_interval_ms=value("group.consumer.heartbeat.interval.ms"),
        consumer_assignment_interval_ms=value("group.consumer.assignment.interval.ms"),
        consumer_assignors=tuple(map(_assignor_name, value("group.consumer.assignors"))),
        consumer_migration_policy=str(value("group.consumer.migration.policy")).lower(),
        consumer_regex_refresh_interval_ms=value("group.consumer.regex.refresh.interval.ms"),
    )


def _assignor_name(name: str) -> str:
    """An assignor may be given by its Java class name, as in old configurations."""
    simple = name.rpartition(".")[2]
    return {"UniformAssignor": "uniform", "RangeAssignor": "range"}.get(simple, name)


def group_setting(configs: Mapping[str, Mapping[str, str]], group_id: str, name: str, default: int) -> int:
    """A number that a group may set for itself (`consumer.session.timeout.ms` ...), else the broker's."""
    own = configs.get(group_id)
    text = None if own is None else own.get(name)
    return default if text is None else int(text)
