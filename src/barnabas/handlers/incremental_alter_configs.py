"""IncrementalAlterConfigs (44), versions 0 and 1: change single keys of topics, brokers and groups
(KIP-339).

SET and DELETE, and for lists APPEND and SUBTRACT. A resource or a key given twice is INVALID_REQUEST, a
value that is not allowed INVALID_CONFIG; with `validate_only` nothing is changed. KIP-412: levels of this
broker's loggers are set and deleted here too; they last until it stops. A resource is changed as a whole or
not at all.

Deviation: client metrics (KIP-714) are not served: INVALID_REQUEST.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidConfig, InvalidRequest, KafkaError
from barnabas.controller.config_changes import check_form
from barnabas.controller.requests import ConfigAlteration, ConfigOperation, ConfigResult, ResourceType
from barnabas.handlers import broker_loggers
from barnabas.handlers.config_resources import alterations, altered, check_is_this_broker
from barnabas.handlers.context import ConfigContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.incremental_alter_configs.v1.request import IncrementalAlterConfigsRequest


async def handle(context: ConfigContext, request: Request) -> Reply:
    body: IncrementalAlterConfigsRequest = request.body
    wanted = alterations(body)
    loggers = alter_loggers(context, wanted, body.validate_only)
    stored = [each for each in wanted if each.resource_type != ResourceType.BROKER_LOGGER]
    results = iter(
        await context.store.run(
            context.configs.alter,
            stored,
            validate_only=body.validate_only,
            is_checked=request.is_forwarded,
        )
        if stored
        else ()
    )
    is_logger = [each.resource_type == ResourceType.BROKER_LOGGER for each in wanted]
    return Reply(responses=[altered(next(loggers if each else results)) for each in is_logger])


def alter_loggers(
    context: ConfigContext, wanted: Sequence[ConfigAlteration], validate_only: bool
) -> Iterator[ConfigResult]:
    """Set the levels of this broker's loggers. One result for each such resource, in order."""
    own = [each for each in wanted if each.resource_type == ResourceType.BROKER_LOGGER]
    times = Counter(each.resource_name for each in own)
    for each in own:
        yield _alter_loggers(context, each, times[each.resource_name] > 1, validate_only)


def _alter_loggers(
    context: ConfigContext, alteration: ConfigAlteration, is_repeated: bool, validate_only: bool
) -> ConfigResult:
    kind, name = alteration.resource_type, alteration.resource_name
    try:
        if is_repeated:
            raise InvalidRequest("Each resource must appear at most once.")
        check_form(alteration)
        check_is_this_broker(context, name)
        for logger, operation, level in alteration.configs:
            _check_level(logger, operation, level)
    except KafkaError as error:
        return ConfigResult(kind, name, error.code, error.message)
    if not validate_only:
        for logger, operation, level in alteration.configs:
            if operation == ConfigOperation.DELETE or level is None:
                broker_loggers.unset_level(logger)
            else:
                broker_loggers.set_level(logger, level)
    return ConfigResult(kind, name)


def _check_level(logger: str, operation: int, level: str | None) -> None:
    if operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
        raise InvalidRequest(f"{ConfigOperation(operation).name} is not allowed for the level of a logger")
    if not broker_loggers.exists(logger):
        raise InvalidConfig(f"Logger {logger} does not exist!")
    if operation == ConfigOperation.DELETE:
        if logger == broker_loggers.ROOT:
            raise InvalidRequest(f"The level of the {logger} logger cannot be removed")
    elif level not in broker_loggers.LEVELS:
        allowed = ", ".join(broker_loggers.LEVELS)
        raise InvalidConfig(f"{level} is not a level for logger {logger}; levels are {allowed}")
