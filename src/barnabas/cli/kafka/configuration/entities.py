"""Which entities a command line of kafka-configs names, and whether its options fit together.

An entity has a type in the plural, as `--entity-type` takes it, and a name; the name "" is the default for
all of that type. `users` and `clients` may be combined.
"""

import socket
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.cli.kafka.options import Given, Options, fail
from barnabas.cli.tool_errors import ToolError

TOPICS, CLIENTS, USERS, BROKERS, IPS = "topics", "clients", "users", "brokers", "ips"
CLIENT_METRICS, GROUPS, BROKER_LOGGERS = "client-metrics", "groups", "broker-loggers"
_TYPES = (TOPICS, CLIENTS, USERS, BROKERS, IPS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS)
_WITH_DEFAULT = frozenset({USERS, CLIENTS, BROKERS, IPS})

NAMED = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": BROKER_LOGGERS,
    "ip": IPS,
    "client-metrics": CLIENT_METRICS,
    "group": GROUPS,
}
"""The short options that name an entity, in Kafka's order."""
DEFAULTS = {
    "client-defaults": CLIENTS,
    "user-defaults": USERS,
    "broker-defaults": BROKERS,
    "ip-defaults": IPS,
}


class Entities(NamedTuple):
    types: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def type(self) -> str:
        return self.types[0]

    @property
    def singular(self) -> str:
        return singular(self.type)


def singular(entity_type: str) -> str:
    """Drops the last letter, also of client-metrics, as Kafka prints it."""
    return entity_type[:-1]


def entities_of(given: Given, arguments: Sequence[str]) -> Entities:
    """`arguments` give the order of --entity-name and --entity-default."""
    types = list(given.entity_type)
    names = _general_names(given, arguments)
    for option, entity_type in NAMED.items():
        if given.has(option):
            types.append(entity_type)
            names.append(getattr(given, option.replace("-", "_")))
    for option, entity_type in DEFAULTS.items():
        if given.has(option):
            types.append(entity_type)
            names.append("")
    return Entities(tuple(types), tuple(names))


def _general_names(given: Given, arguments: Sequence[str]) -> list[str]:
    values = iter(given.entity_name)
    names = []
    for word in arguments:
        if word == "--entity-default":
            names.append("")
        elif word == "--entity-name" or word.startswith("--entity-name="):
            names.append(next(values))
    return names


def check_options(options: Options, given: Given, entities: Entities) -> None:
    """In Kafka's order. Raises UsageError, or ToolError if Kafka does not print its usage."""
    if given.has("alter") == given.has("describe"):
        fail("Command must include exactly one action: --describe, --alter")
    options.forbid(given, "describe", "alter", "add-config", "delete-config")
    _check_types(given, entities)
    _check_names(given, entities)
    if given.has("describe"):
        _check_describe(given, entities)
    else:
        _check_alter(given, entities)


def _check_types(given: Given, entities: Entities) -> None:
    types = entities.types
    twice = [each for number, each in enumerate(types) if each in types[:number]]
    if twice:
        raise ToolError(f"Duplicate entity type(s) specified: {','.join(twice)}")
    if not any(map(given.has, ("bootstrap-server", "bootstrap-controller", "zookeeper"))):
        raise ToolError("Either --bootstrap-server or --bootstrap-controller must be specified.")
    for each in types:
        if each not in _TYPES:
            raise ToolError(
                f"Invalid entity type {each}, the entity type must be one of {', '.join(_TYPES)} "
                "with a --bootstrap-server or --bootstrap-controller argument"
            )
    if not types:
        raise ToolError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {USERS, CLIENTS}:
        raise ToolError(f"Only '{USERS}' and '{CLIENTS}' entity types may be specified together")
    is_general = any(map(given.has, ("entity-name", "entity-type", "entity-default")))
    if is_general and any(map(given.has, (*NAMED, *DEFAULTS))):
        raise ToolError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )


def _check_names(given: Given, entities: Entities) -> None:
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        raise ToolError("Only one of --bootstrap-server or --bootstrap-controller can be specified")
    if given.has("bootstrap-controller"):
        raise ToolError(
            "--bootstrap-controller is not supported: every broker takes these requests, "
            "give --bootstrap-server host:port"
        )
    named = [name for name in entities.names if name]
    if entities.type in (BROKERS, BROKER_LOGGERS):
        for name in named:
            if not is_integer(name):
                raise ToolError(
                    f"The entity name for {entities.type} must be a valid integer broker id, "
                    f"but it is: {name}"
                )
    if entities.type == IPS:
        for name in named:
            if not _is_address(name):
                raise ToolError(
                    f"The entity name for {IPS} must be a valid IP or resolvable host, but it is: {name}"
                )


def _check_describe(given: Given, entities: Entities) -> None:
    listed = ",".join(entities.types)
    if not _WITH_DEFAULT.intersection(entities.types) and given.has("entity-default"):
        raise ToolError(f"--entity-default must not be specified with --describe of {listed}")
    if BROKER_LOGGERS in entities.types and not any(entities.names):
        raise ToolError(f"An entity name must be specified with --describe of {listed}")


def _check_alter(given: Given, entities: Entities) -> None:
    if _WITH_DEFAULT.intersection(entities.types):
        if not entities.names:
            raise ToolError(
                "An entity-name or default entity must be specified with --alter of "
                "users, clients, brokers or ips"
            )
    elif not any(entities.names):
        raise ToolError(f"An entity name must be specified with --alter of {','.join(entities.types)}")
    if given.has("add-config") and given.has("add-config-file"):
        raise ToolError("Only one of --add-config or --add-config-file must be specified")
    if not any(map(given.has, ("add-config", "add-config-file", "delete-config"))):
        raise ToolError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified "
            "with --alter"
        )
    if len(entities.types) != len(entities.names):
        raise ToolError("An entity name must be specified for every entity type")


def is_integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _is_address(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True
