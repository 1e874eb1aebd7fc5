"""`kafka-configs --alter`: checks the changes as Kafka does, and sends them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.kafka.configuration import entities as entity
from barnabas.cli.kafka.configuration.describing import entries_of, quota_kind, quotas_of, resource_kind
from barnabas.cli.kafka.configuration.entities import Entities
from barnabas.cli.kafka.options import Given
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

# A comma or an equals sign that is not inside square brackets.
_OUTSIDE = r"(?=[^\]]*(?:\[|$))"
_COMMA = re.compile("," + _OUTSIDE)
_EQUALS = re.compile(r"\s*=\s*" + _OUTSIDE)
_KEY = re.compile(r"[$a-zA-Z0-9._-]*")
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?|NaN|Infinity)")


def alter(cluster: "Cluster", given: Given, entities: Entities) -> None:
    added = _added(given)
    deleted = [key.strip() for text in given.delete_config for key in text.split(",")]
    if entities.type == entity.BROKER_LOGGERS:
        _check_loggers(cluster, entities.names[0], [*deleted, *added])
    if entities.type in (entity.USERS, entity.CLIENTS):
        _alter_clients(cluster, entities, added, deleted)
    elif entities.type == entity.IPS:
        _alter_addresses(cluster, entities, added, deleted)
    else:
        _alter_resource(cluster, entities, added, deleted)
    if entities.names[0]:
        print(f"Completed updating config for {entities.singular} {entities.names[0]}.")
    else:
        print(f"Completed updating default config for {entities.type} in the cluster.")


# --- arguments --------------------------------------------------------------------------------------


def _added(given: Given) -> dict[str, str]:
    added = {}
    if given.has("add-config-file"):
        from barnabas.client.settings import read_properties

        added = read_properties(given.add_config_file)
    elif given.has("add-config"):
        added = parse_pairs(given.add_config)
    for key in added:
        if _KEY.fullmatch(key) is None:
            raise ToolError(f"Invalid character found for config key: {key}")
    return added


def parse_pairs(text: str) -> dict[str, str]:
    """`k1=v1,k2=[v1,v2],k3=`. Brackets keep commas and equals signs together. Raises ToolError."""
    words = _COMMA.split(text)
    while len(words) > 1 and not words[-1]:
        words.pop()
    pairs = [_EQUALS.split(word) for word in words]
    if any(len(pair) != 2 for pair in pairs):
        raise ToolError(
            "requirement failed: Invalid entity config: all configs to be added must be in the format "
            '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
        )
    return {key.strip(): re.sub(r"[\[\]]", "", value).strip() for key, value in pairs}


# --- settings ---------------------------------------------------------------------------------------


def _alter_resource(
    cluster: "Cluster", entities: Entities, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    from barnabas.client.admin.configs import DELETE, Change, Resource, alter_configs

    changes = [Change(key, None, DELETE) for key in deleted]
    changes += [Change(key, value) for key, value in added.items()]
    alter_configs(cluster, {Resource(resource_kind(entities.type), entities.names[0]): changes})


def _check_loggers(cluster: "Cluster", broker: str, names: Iterable[str]) -> None:
    known = {each.name for each in entries_of(cluster, entity.BROKER_LOGGERS, broker)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ToolError(f"Invalid broker logger(s): {','.join(unknown)}")


# --- quotas and credentials -------------------------------------------------------------------------


def _alter_clients(
    cluster: "Cluster", entities: Entities, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    from barnabas.client.admin.quotas import CLIENT_QUOTAS
    from barnabas.client.admin.scram import is_scram

    if entity.CLIENTS in entities.types:
        _check_keys(CLIENT_QUOTAS, added, deleted, f"Only quota configs can be {{}} for '{entity.CLIENTS}'")
    else:
        allowed = [*CLIENT_QUOTAS, *filter(is_scram, (*added, *deleted))]
        rule = f"Only quota and SCRAM credential configs can be {{}} for '{entity.USERS}'"
        _check_keys(allowed, added, deleted, rule)
    keys = [*added, *deleted]
    has_quotas, has_credentials = any(key in CLIENT_QUOTAS for key in keys), any(map(is_scram, keys))
    if has_credentials and "" in entities.names:
        raise ToolError(
            "The use of --entity-default or --user-defaults is not allowed with "
            "User SCRAM Credentials using --bootstrap-server."
        )
    if has_credentials and has_quotas:
        raise ToolError(
            "Cannot alter both quota and SCRAM credential configs simultaneously "
            f"for '{entity.USERS}' using --bootstrap-server."
        )
    if has_credentials:
        _alter_credentials(cluster, entities.names[0], added, deleted)
    else:
        _alter_quotas(cluster, entities, added, deleted)


def _check_keys(allowed: Sequence[str], added: Iterable[str], deleted: Iterable[str], rule: str) -> None:
    """Lists are printed in the format of Scala, as in Kafka's tool."""
    for keys, done, collection in ((added, "added", "Set"), (deleted, "deleted", "ArrayBuffer")):
        unknown = [key for key in keys if key not in allowed]
        if unknown:
            unknown = unknown if done == "deleted" else sorted(unknown)
            raise ToolError(
                f"{rule.format(done)} using --bootstrap-server. "
                f"Unexpected config names: {collection}({', '.join(unknown)})"
            )


def _alter_addresses(
    cluster: "Cluster", entities: Entities, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    from barnabas.client.admin.quotas import IP_QUOTAS

    unknown = [key for key in (*added, *deleted) if key not in IP_QUOTAS]
    if unknown:
        raise ToolError(
            f"Only connection quota configs can be added for '{entity.IPS}' using --bootstrap-server. "
            f"Unexpected config names: {','.join(unknown)}"
        )
    _alter_quotas(cluster, entities, added, deleted)


def _alter_quotas(
    cluster: "Cluster", entities: Entities, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    from barnabas.client.admin.quotas import alter_quotas

    found = quotas_of(cluster, entities)
    present = found[0].values if found else {}
    absent = [key for key in deleted if key not in present]
    if absent:
        raise ToolError(f"Invalid config(s): {','.join(absent)}")
    changes: dict[str, float | None] = {key: parse_quota(key, value) for key, value in added.items()}
    changes.update(dict.fromkeys(deleted))
    kinds = map(quota_kind, entities.types)
    alter_quotas(cluster, list(zip(kinds, entities.names, strict=True)), changes)


def parse_quota(key: str, value: str) -> float:
    """A number as Java reads a double. Raises ToolError."""
    if _NUMBER.fullmatch(value) is None:
        raise ToolError(f"Cannot parse quota configuration value for {key}: {value}")
    return float(value.rstrip("fFdD"))


def _alter_credentials(
    cluster: "Cluster", user: str, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    from barnabas.client.admin.scram import Credential, alter_credentials

    try:
        credentials = [Credential.parse(mechanism, text) for mechanism, text in added.items()]
    except ValueError as error:
        raise ToolError(str(error)) from None
    alter_credentials(cluster, user, add=credentials, delete=deleted)
