"""How a request changes a resource's configuration: SET, DELETE, APPEND, SUBTRACT, and its form. Pure."""

from collections.abc import Mapping

from barnabas.base.config.broker_keys import BROKER_KEYS, base_name
from barnabas.base.config.group_keys import GROUP_KEYS
from barnabas.base.config.keys import ConfigKey, ConfigType
from barnabas.base.config.topic_keys import TOPIC_KEYS
from barnabas.base.errors import InvalidConfig, InvalidRequest
from barnabas.controller.requests import ConfigAlteration, ConfigOperation, ConfigReplacement, ResourceType

MAX_VALUE_LENGTH = 32767


def check_form(request: ConfigReplacement | ConfigAlteration) -> None:
    """Raise InvalidRequest if a key is duplicate, a value is missing or an operation is unknown."""
    names = [entry[0] for entry in request.configs]
    if len(set(names)) != len(names):
        raise InvalidRequest("Error due to duplicate config keys")
    if isinstance(request, ConfigReplacement):
        nulls = [name for name, value in request.configs if value is None]
    else:
        nulls = [n for n, op, value in request.configs if value is None and op != ConfigOperation.DELETE]
    if nulls:
        raise InvalidRequest(f"Null value not supported for : {', '.join(nulls)}")
    if isinstance(request, ConfigAlteration):
        for _, operation, _ in request.configs:
            if operation not in ConfigOperation.__members__.values():
                raise InvalidRequest(f"Unknown operations type {operation}")


def changed_configs(
    request: ConfigReplacement | ConfigAlteration, before: Mapping[str, str]
) -> dict[str, str]:
    """Returns the changed configuration. The caller validates it."""
    if isinstance(request, ConfigReplacement):
        after = {name: value for name, value in request.configs if value is not None}
    else:
        after = dict(before)
        for name, operation, value in request.configs:
            if operation == ConfigOperation.DELETE or value is None:
                after.pop(name, None)
            elif operation == ConfigOperation.SET:
                after[name] = value
            else:
                after[name] = _changed_list(request.resource_type, name, operation, value, after.get(name))
    for value in after.values():
        if len(value) > MAX_VALUE_LENGTH:
            raise InvalidConfig(
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{MAX_VALUE_LENGTH} bytes."
            )
    return after


def _changed_list(resource_type: int, name: str, operation: int, value: str, current: str | None) -> str:
    key = _list_key(resource_type, name, operation)
    text = current if current is not None else key.default or ""
    parts = [part for part in text.split(",") if part]
    for part in value.split(","):
        if operation == ConfigOperation.SUBTRACT:
            if part in parts:
                parts.remove(part)
        elif part not in parts:
            parts.append(part)
    return ",".join(parts)


def _list_key(resource_type: int, name: str, operation: int) -> ConfigKey:
    if resource_type == ResourceType.BROKER:
        key = BROKER_KEYS.get(base_name(name))
        if key is None:
            raise InvalidConfig(f"Unknown config name: {name}")
        if key.type is not ConfigType.LIST:
            verb = ConfigOperation(operation).name.lower()
            raise InvalidConfig(f"Config value {verb} is not allowed for config key: {name}")
        return key
    key = (GROUP_KEYS if resource_type == ResourceType.GROUP else TOPIC_KEYS).get(name)
    if key is None or key.type is not ConfigType.LIST:
        verb = ConfigOperation(operation).name
        raise InvalidConfig(f"Can't {verb} to key {name} because its type is not LIST.")
    return key
