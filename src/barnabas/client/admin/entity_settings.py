"""All settings of an entity in one list: configuration, quotas and SCRAM credentials.

The kinds are those of `barnabas config`. The name "default" is the default of all brokers, clients, users or
addresses. An entity's own settings are those set for the entity itself. Inherited and default values are
returned only with `everything`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.client.admin import configs, quotas, scram
from barnabas.client.admin.configs import Change, Resource
from barnabas.client.admin.groups import list_groups
from barnabas.client.errors import BrokerError, ClientError

if TYPE_CHECKING:
    from barnabas.client.admin.configs import ConfigEntry
    from barnabas.client.cluster import Cluster

DEFAULT = "default"
RESOURCES = {
    "topic": configs.TOPIC,
    "broker": configs.BROKER,
    "group": configs.GROUP,
    "logger": configs.BROKER_LOGGER,
    "client-metrics": configs.CLIENT_METRICS,
}
QUOTAS = {"client": quotas.CLIENT_ID, "user": quotas.USER, "ip": quotas.IP}
KINDS = (*RESOURCES, *QUOTAS)

_SOURCES = {
    "DYNAMIC_TOPIC_CONFIG": "topic",
    "DYNAMIC_BROKER_CONFIG": "broker",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "all brokers",
    "STATIC_BROKER_CONFIG": "server.properties",
    "DEFAULT_CONFIG": "default",
    "DYNAMIC_BROKER_LOGGER_CONFIG": "logger",
    "DYNAMIC_CLIENT_METRICS_CONFIG": "client-metrics",
    "DYNAMIC_GROUP_CONFIG": "group",
}
_NOT_OWN = {
    "topic": {"broker", "all brokers", "server.properties", "default"},
    "broker": {"default"},
    "group": {"default", "server.properties", "broker", "all brokers"},
    "client-metrics": {"default"},
    "logger": set[str](),
}


class BadEntity(ClientError):
    """The entity does not exist, or cannot have the setting."""


class Entity(NamedTuple):
    kind: str
    name: str | None
    """None stands for all entities of the kind."""
    client: str | None = None
    """A client id of a user."""

    def __str__(self) -> str:
        client = "" if self.client is None else f" client {self.client}"
        return f"{self.kind} {self.name}{client}"


class Setting(NamedTuple):
    entity: str
    name: str
    value: str | None
    """None if the value is sensitive."""
    source: str
    is_default: bool


def settings_of(cluster: "Cluster", entity: Entity, *, everything: bool = False) -> list[Setting]:
    """Sorted. Only its own settings, unless `everything` is set."""
    if entity.kind in QUOTAS:
        return _limits(cluster, entity) + _credentials(cluster, entity)
    found = []
    for name in _names(cluster, entity):
        for entry in sorted(_entries(cluster, entity.kind, name), key=lambda each: each.name):
            source = _SOURCES.get(entry.source, entry.source.lower())
            if everything or source not in _NOT_OWN[entity.kind]:
                value = None if entry.is_sensitive else entry.value
                found.append(Setting(name or DEFAULT, entry.name, value, source, entry.is_default))
    return found


def change(cluster: "Cluster", entity: Entity, *, add: Mapping[str, str], delete: Sequence[str]) -> None:
    """Raises BadEntity for an invalid change, BrokerError if the broker rejects it."""
    if entity.kind in RESOURCES:
        changes = [Change(key, None, configs.DELETE) for key in delete]
        changes += [Change(key, value) for key, value in add.items()]
        configs.alter_configs(cluster, {Resource(RESOURCES[entity.kind], _wire_name(entity)): changes})
        return
    keys = [*add, *delete]
    if not any(map(scram.is_scram, keys)):
        limits: dict[str, float | None] = {key: _number(key, value) for key, value in add.items()}
        limits.update(dict.fromkeys(delete))
        quotas.alter_quotas(cluster, [(kind, name or "") for kind, name in _parts(entity)], limits)
        return
    if entity.kind != "user" or entity.client is not None or not _wire_name(entity):
        raise BadEntity(f"{entity} cannot have credentials: only a user can")
    if not all(map(scram.is_scram, keys)):
        raise BadEntity("Credentials and quotas cannot be changed together: use one command for each")
    credentials = [_credential(key, text) for key, text in add.items()]
    scram.alter_credentials(cluster, _wire_name(entity), add=credentials, delete=delete)


def keys_of(cluster: "Cluster", entity: Entity) -> list[str]:
    """The names of settings, for completion."""
    if entity.kind == "ip":
        return list(quotas.IP_QUOTAS)
    if entity.kind in QUOTAS:
        return [*quotas.CLIENT_QUOTAS, *(scram.MECHANISMS if entity.kind == "user" else ())]
    return [each.name for each in _entries(cluster, entity.kind, _wire_name(entity)) if not each.is_read_only]


# --- settings ---------------------------------------------------------------------------------------


def _names(cluster: "Cluster", entity: Entity) -> list[str]:
    if entity.name is not None:
        return [_wire_name(entity)]
    if entity.kind == "topic":
        return sorted(topic.name for topic in cluster.metadata(None).topics)
    if entity.kind in ("broker", "logger"):
        return [str(node) for node in sorted(cluster.nodes)]
    if entity.kind == "group":
        groups = {group.id for group in list_groups(cluster)}
        return sorted(groups.union(configs.configured_groups(cluster) or ()))
    return configs.list_config_resources(cluster, configs.CLIENT_METRICS)


def _wire_name(entity: Entity) -> str:
    has_default = entity.kind in (*QUOTAS, "broker")
    return "" if entity.name is None or (has_default and entity.name == DEFAULT) else entity.name


def _entries(cluster: "Cluster", kind: str, name: str) -> list["ConfigEntry"]:
    resource = Resource(RESOURCES[kind], name)
    try:
        return configs.describe_configs(cluster, [resource])[resource]
    except BrokerError as error:
        if error.name == "unknown_topic_or_partition":
            raise BadEntity(f"Topic {name} does not exist") from error
        raise


# --- quotas and credentials -------------------------------------------------------------------------


def _parts(entity: Entity) -> list[quotas.Wanted]:
    name = None if entity.name is None else _wire_name(entity)
    parts: list[quotas.Wanted] = [(QUOTAS[entity.kind], name)]
    if entity.client is not None:
        parts.append((quotas.CLIENT_ID, "" if entity.client == DEFAULT else entity.client))
    return parts


def _limits(cluster: "Cluster", entity: Entity) -> list[Setting]:
    return [
        Setting("/".join(name or DEFAULT for _, name in found.entity), key, f"{value:.15g}", "quota", False)
        for found in quotas.describe_quotas(cluster, _parts(entity))
        for key, value in found.values.items()
    ]


def _credentials(cluster: "Cluster", entity: Entity) -> list[Setting]:
    if entity.kind != "user" or entity.client is not None or entity.name == DEFAULT:
        return []
    users = [] if entity.name is None else [entity.name]
    found: list[Setting] = []
    for user, described in sorted(scram.describe_credentials(cluster, users).items()):
        if isinstance(described, BrokerError):
            raise described
        found += [
            Setting(user, each.mechanism, f"iterations={each.iterations}", "credential", False)
            for each in described
        ]
    return found


def _number(key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise BadEntity(f"{key}={value}: expected a number") from None


def _credential(mechanism: str, text: str) -> scram.Credential:
    try:
        return scram.Credential.parse(mechanism, text)
    except ValueError:  # its message repeats the password
        raise BadEntity(
            f"{mechanism}: expected iterations=N,password=SECRET, N from {scram.MIN_ITERATIONS}"
        ) from None
