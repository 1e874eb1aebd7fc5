"""`kafka-configs --describe`: settings, quotas and SCRAM credentials as Kafka prints them."""

from typing import TYPE_CHECKING

from barnabas.cli.kafka.configuration import entities as entity
from barnabas.cli.kafka.configuration.entities import Entities, singular
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.configs import ConfigEntry
    from barnabas.client.admin.quotas import Quotas
    from barnabas.client.cluster import Cluster


def describe(cluster: "Cluster", entities: Entities, *, everything: bool) -> None:
    if entities.type in (entity.USERS, entity.CLIENTS, entity.IPS):
        _describe_quotas(cluster, entities)
        # Credentials belong to a user alone: not to one of their clients, and not to the default.
        if entities.types == (entity.USERS,) and "" not in entities.names:
            _describe_credentials(cluster, entities.names)
        return
    name = entities.names[0] if entities.names else None
    if name is not None and not everything and not _exists(cluster, entities.type, name):
        print(f"The {entities.singular} '{name}' doesn't exist and doesn't have dynamic config.")
        return
    for each in _all_names(cluster, entities.type) if name is None else [name]:
        _describe_resource(cluster, entities.type, each, everything)


# --- settings ---------------------------------------------------------------------------------------


def resource_kind(entity_type: str) -> int:
    from barnabas.client.admin import configs

    kinds = {
        entity.TOPICS: configs.TOPIC,
        entity.BROKERS: configs.BROKER,
        entity.BROKER_LOGGERS: configs.BROKER_LOGGER,
        entity.CLIENT_METRICS: configs.CLIENT_METRICS,
        entity.GROUPS: configs.GROUP,
    }
    return kinds[entity_type]


def _dynamic_source(entity_type: str, name: str) -> str | None:
    """The source of settings of this entity itself. None if all sources count."""
    if entity_type == entity.BROKERS:
        return "DYNAMIC_BROKER_CONFIG" if name else "DYNAMIC_DEFAULT_BROKER_CONFIG"
    return {
        entity.TOPICS: "DYNAMIC_TOPIC_CONFIG",
        entity.CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
        entity.GROUPS: "DYNAMIC_GROUP_CONFIG",
    }.get(entity_type)


def entries_of(
    cluster: "Cluster", entity_type: str, name: str, *, everything: bool = False, synonyms: bool = False
) -> list["ConfigEntry"]:
    from barnabas.client.admin.configs import Resource, describe_configs

    resource = Resource(resource_kind(entity_type), name)
    source = None if everything else _dynamic_source(entity_type, name)
    found = describe_configs(cluster, [resource], synonyms=synonyms)[resource]
    wanted = [each for each in found if source is None or each.source == source]
    return sorted(wanted, key=lambda each: each.name)


def _describe_resource(cluster: "Cluster", entity_type: str, name: str, everything: bool) -> None:
    if name:
        which = "All" if everything else "Dynamic"
        print(f"{which} configs for {singular(entity_type)} {name} are:")
    else:
        print(f"Default configs for {entity_type} in the cluster are:")
    for each in entries_of(cluster, entity_type, name, everything=everything, synonyms=True):
        synonyms = ", ".join(f"{one.source}:{one.name}={_value(one.value)}" for one in each.synonyms)
        sensitive = "true" if each.is_sensitive else "false"
        print(f"  {each.name}={_value(each.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _value(value: str | None) -> str:
    return "null" if value is None else value


# --- which there are --------------------------------------------------------------------------------


def _exists(cluster: "Cluster", entity_type: str, name: str) -> bool:
    if entity_type == entity.TOPICS:
        return _is_topic(cluster, name)
    if entity_type in (entity.BROKERS, entity.BROKER_LOGGERS):
        return not name or int(name) in cluster.nodes
    if entity_type == entity.GROUPS:
        from barnabas.client.admin.configs import configured_groups

        configured = configured_groups(
            cluster
        )  # a broker without KIP-1142 cannot list groups with settings: accept any name
        return configured is None or name in configured or name in _group_ids(cluster)
    return name in _all_names(cluster, entity_type)


def _is_topic(cluster: "Cluster", name: str) -> bool:
    """Raises BrokerError if the topic name is invalid."""
    from barnabas.client.errors import BrokerError

    for topic in cluster.metadata([name]).topics:
        if topic.error_code == 0:
            return True
        error = BrokerError(topic.error_code)
        if error.name == "unknown_topic_or_partition":
            return False
        entries_of(
            cluster, entity.TOPICS, name
        )  # unlike Metadata, it returns the reason why the name is invalid
        raise error
    return False


def _all_names(cluster: "Cluster", entity_type: str) -> list[str]:
    if entity_type == entity.TOPICS:
        from barnabas.cli.kafka.java_order import in_java_order

        return in_java_order((topic.name for topic in cluster.metadata(None).topics), str)
    if entity_type in (entity.BROKERS, entity.BROKER_LOGGERS):
        return [*map(str, sorted(cluster.nodes)), ""]
    if entity_type == entity.GROUPS:
        from barnabas.client.admin.configs import configured_groups

        return sorted({*_group_ids(cluster), *(configured_groups(cluster) or ())})
    from barnabas.client.admin.configs import CLIENT_METRICS, list_config_resources

    return list_config_resources(cluster, CLIENT_METRICS)


def _group_ids(cluster: "Cluster") -> list[str]:
    from barnabas.client.admin.groups import list_groups

    return [group.id for group in list_groups(cluster)]


# --- quotas and credentials -------------------------------------------------------------------------


def quotas_of(cluster: "Cluster", entities: Entities) -> list["Quotas"]:
    from barnabas.client.admin.quotas import describe_quotas

    if len(entities.names) > len(entities.types):
        raise ToolError("More entity names specified than entity types")
    names = [*entities.names, *[None] * (len(entities.types) - len(entities.names))]
    kinds = map(quota_kind, entities.types)
    return describe_quotas(cluster, list(zip(kinds, names, strict=True)))


def quota_kind(entity_type: str) -> str:
    from barnabas.client.admin import quotas

    kinds = {entity.USERS: quotas.USER, entity.CLIENTS: quotas.CLIENT_ID, entity.IPS: quotas.IP}
    return kinds[entity_type]


def _describe_quotas(cluster: "Cluster", entities: Entities) -> None:
    words = {"user": "user-principal"}
    for each in quotas_of(cluster, entities):
        subject = ", ".join(
            f"{words.get(kind, kind)} '{name}'" if name else f"the default {words.get(kind, kind)}"
            for kind, name in each.entity
        )
        values = ", ".join(f"{key}={java_double(value)}" for key, value in each.values.items())
        print(f"Quota configs for {subject} are {values}")


def _describe_credentials(cluster: "Cluster", users: tuple[str, ...]) -> None:
    from barnabas.client.admin.scram import describe_credentials
    from barnabas.client.errors import BrokerError

    for user, found in describe_credentials(cluster, users).items():
        if isinstance(found, BrokerError):
            java_class = "".join(word.capitalize() for word in found.name.split("_")) + "Exception"
            problem = f"{java_class}: {found}"
            print(f"Error retrieving SCRAM credential configs for user-principal '{user}': {problem}")
            continue
        listed = ", ".join(f"{each.mechanism}=iterations={each.iterations}" for each in found)
        print(f"SCRAM credential configs for user-principal '{user}' are {listed}")


def java_double(value: float) -> str:
    """As Java writes a double: `1024.0`, and from ten million on `1.0E7`."""
    size = abs(value)
    if value == 0 or 1e-3 <= size < 1e7:
        return format(value, ".1f") if value == int(value) else repr(float(value))
    if value != value or size == float("inf"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(float(value))]
    digits, exponent = _scientific(value)
    return f"{digits}E{exponent}"


def _scientific(value: float) -> tuple[str, int]:
    shortest = len(repr(float(value)).split("e")[0].replace(".", "").strip("-0")) - 1
    mantissa, _, exponent = format(value, f".{max(shortest, 1)}e").partition("e")
    return mantissa, int(exponent)
