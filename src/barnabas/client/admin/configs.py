"""Settings of topics, brokers, groups and client metrics: describe, alter and list them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BadSettings, BrokerError, Unsupported, check

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""Kinds of resources, as the protocol numbers them."""

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""Operations of IncrementalAlterConfigs."""

SOURCES = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}


class Resource(NamedTuple):
    kind: int
    name: str


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    name: str
    value: str | None
    source: str
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[Synonym, ...]

    @property
    def is_default(self) -> bool:
        return self.source == "DEFAULT_CONFIG"


class Change(NamedTuple):
    name: str
    value: str | None
    operation: int = SET


def describe_configs(
    cluster: Cluster, resources: Iterable[Resource], *, synonyms: bool = False
) -> dict[Resource, list[ConfigEntry]]:
    """Every setting of each resource. A broker answers for itself. Raises the first error."""
    found: dict[Resource, list[ConfigEntry]] = {}
    for to, requested in _by_broker(resources).items():
        fields = [
            {"resource_type": each.kind, "resource_name": each.name, "configuration_keys": None}
            for each in requested
        ]
        answer = cluster.request("describe_configs", to=to, resources=fields, include_synonyms=synonyms)
        for result in answer.results:
            check(result.error_code, result.error_message)
            entries = [_entry(each) for each in result.configs]
            found[Resource(result.resource_type, result.resource_name)] = entries
    return found


def alter_configs(
    cluster: Cluster, changes: Mapping[Resource, Sequence[Change]], *, validate_only: bool = False
) -> None:
    """Raises the first error; each resource changes as a whole or not at all."""
    for to, requested in _by_broker(changes).items():
        fields = [
            {
                "resource_type": each.kind,
                "resource_name": each.name,
                "configs": [
                    {"name": change.name, "config_operation": change.operation, "value": change.value}
                    for change in changes[each]
                ],
            }
            for each in requested
        ]
        answer = cluster.request(
            "incremental_alter_configs", to=to, resources=fields, validate_only=validate_only
        )
        for result in answer.responses:
            check(result.error_code, result.error_message)


def list_config_resources(cluster: Cluster, kind: int) -> list[str]:
    """Names of resources with their own settings (KIP-1142). Raises Unsupported.

    Version 0 of the request lists client metrics only.
    """
    if kind != CLIENT_METRICS and cluster.version_of("list_config_resources") == 0:
        raise Unsupported("The broker lists client metrics only (LIST_CONFIG_RESOURCES version 0)")
    answer = cluster.request("list_config_resources", resource_types=[kind])
    check(answer.error_code)
    return sorted(each.resource_name for each in answer.config_resources if each.resource_type == kind)


def configured_groups(cluster: Cluster) -> list[str] | None:
    """Groups with their own settings. Returns None if the request is unsupported or not authorized."""
    try:
        return list_config_resources(cluster, GROUP)
    except Unsupported:
        return None
    except BrokerError as error:
        if error.name != "cluster_authorization_failed":
            raise
        return None


def _by_broker(resources: Iterable[Resource]) -> dict[int | None, list[Resource]]:
    """Requests by target: settings of a broker come from that broker, others from any."""
    parts: dict[int | None, list[Resource]] = {}
    for each in resources:
        to = _broker_id(each.name) if each.kind in (BROKER, BROKER_LOGGER) and each.name else None
        parts.setdefault(to, []).append(each)
    return parts


def _broker_id(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise BadSettings(f"{name!r} is not a broker id: expected a number") from None


def _entry(raw: Any) -> ConfigEntry:
    return ConfigEntry(
        raw.name,
        raw.value,
        SOURCES.get(raw.config_source, "UNKNOWN"),
        raw.is_sensitive,
        raw.read_only,
        tuple(Synonym(each.name, each.value, SOURCES.get(each.source, "UNKNOWN")) for each in raw.synonyms),
    )
