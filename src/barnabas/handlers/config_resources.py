"""What requests about configuration have in common: resources by type and name, a result for each."""

from typing import Any

from barnabas.base.errors import InvalidRequest
from barnabas.controller.requests import ConfigAlteration, ConfigReplacement, ConfigResult
from barnabas.handlers.context import ConfigContext
from barnabas.wire import Reply


def replacements(body: Any) -> list[ConfigReplacement]:
    """What an AlterConfigs request wants."""
    return [
        ConfigReplacement(
            resource.resource_type,
            resource.resource_name,
            tuple((each.name, each.value) for each in resource.configs),
        )
        for resource in body.resources
    ]


def alterations(body: Any) -> list[ConfigAlteration]:
    """What an IncrementalAlterConfigs request wants."""
    return [
        ConfigAlteration(
            resource.resource_type,
            resource.resource_name,
            tuple((each.name, each.config_operation, each.value) for each in resource.configs),
        )
        for resource in body.resources
    ]


def altered(result: ConfigResult) -> Reply:
    """One line of the answer to AlterConfigs and IncrementalAlterConfigs."""
    return Reply(
        error_code=result.error,
        error_message=result.message,
        resource_type=result.resource_type,
        resource_name=result.resource_name,
    )


def check_is_this_broker(context: ConfigContext, name: str) -> None:
    """Raise InvalidRequest unless `name` is this broker's id: a broker speaks for itself only."""
    try:
        broker_id = int(name)
    except ValueError:
        raise InvalidRequest(f"Broker id must be an integer, but it is: {name}") from None
    if broker_id != context.config.broker_id:
        raise InvalidRequest(
            f"Unexpected broker id, expected {context.config.broker_id}, but received {name}"
        )
