"""Changes of configurations that arrive at a broker that is not the controller (Kafka's ConfigAdminManager).

The broker sets the levels of its own loggers, and checks changes of its own configuration: only it knows its
static configuration. What is left is the controller's. Usually that is the whole request, which is then
forwarded unchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from barnabas.base.errors import ErrorCode, UnknownServerError
from barnabas.controller.configs import Request as Change
from barnabas.controller.requests import NO_ERROR, ConfigResult, ResourceType
from barnabas.handlers.config_resources import alterations, altered, replacements
from barnabas.handlers.context import ConfigContext, Request
from barnabas.handlers.incremental_alter_configs import alter_loggers
from barnabas.wire import Reply

_Resource = tuple[int, str]
"""Type and name."""


class Division(NamedTuple):
    order: Sequence[_Resource]
    done: Mapping[_Resource, ConfigResult]
    """The resources that this broker has answered."""
    rest: Any
    """The request without them, in the version of the client. None if nothing is left."""

    def joined(self, answers: Sequence[Any]) -> Reply:
        """The response, with the controller's answers about the rest."""
        theirs = {(each.resource_type, each.resource_name): each for each in answers}
        missing = UnknownServerError("The controller did not answer about this resource.")
        responses = []
        for resource in self.order:
            result = self.done.get(resource)
            if result is None and resource in theirs:
                answer = theirs[resource]
                result = ConfigResult(*resource, ErrorCode(answer.error_code), answer.error_message)
            responses.append(altered(result or ConfigResult(*resource, missing.code, missing.message)))
        return Reply(responses=responses)


async def divide_replacements(context: ConfigContext, request: Request) -> Division | None:
    changes = replacements(request.body)
    return _division(request, changes, await _refused(context, changes))


async def divide_alterations(context: ConfigContext, request: Request) -> Division | None:
    changes = alterations(request.body)
    done = await _refused(context, changes)
    for result in alter_loggers(context, changes, request.body.validate_only):
        done[result.resource_type, result.resource_name] = result
    return _division(request, changes, done)


async def _refused(context: ConfigContext, changes: Sequence[Change]) -> dict[_Resource, ConfigResult]:
    """Changes of the configuration of brokers that this broker does not accept."""
    own = [each for each in changes if each.resource_type == ResourceType.BROKER]
    results = await context.store.run(context.configs.check, own) if own else []
    return {(each.resource_type, each.resource_name): each for each in results if each.error is not NO_ERROR}


def _division(
    request: Request, changes: Sequence[Change], done: Mapping[_Resource, ConfigResult]
) -> Division | None:
    if not done:
        return None
    left = tuple(
        each for each in request.raw.resources if (each.resource_type, each.resource_name) not in done
    )
    order = [(each.resource_type, each.resource_name) for each in changes]
    return Division(order, done, replace(request.raw, resources=left) if left else None)
