"""What requests about configuration have in common: resources by type and name, a result for each."""

from barnabas.base.errors import InvalidRequest
from barnabas.controller.requests import ConfigResult
from barnabas.handlers.context import ConfigContext
from barnabas.wire import Reply


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
