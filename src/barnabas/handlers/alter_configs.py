"""AlterConfigs (33), versions 0 to 2: replace the whole dynamic configuration of topics, brokers and
groups.

Kept for old clients; IncrementalAlterConfigs is the better one (KIP-339). What is not named goes back to
its default. A resource or a key given twice is INVALID_REQUEST; so are loggers, which this API never knew.
With `validate_only` nothing is changed.
"""

from typing import TYPE_CHECKING

from barnabas.controller.requests import ConfigReplacement
from barnabas.handlers.config_resources import altered
from barnabas.handlers.context import ConfigContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.alter_configs.v2.request import AlterConfigsRequest


async def handle(context: ConfigContext, request: Request) -> Reply:
    body: AlterConfigsRequest = request.body
    replacements = [
        ConfigReplacement(
            resource.resource_type,
            resource.resource_name,
            tuple((each.name, each.value) for each in resource.configs),
        )
        for resource in body.resources
    ]
    results = await context.store.run(context.configs.alter, replacements, validate_only=body.validate_only)
    return Reply(responses=[altered(result) for result in results])
