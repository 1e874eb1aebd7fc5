"""AlterConfigs (33), versions 0 to 2: replace the whole dynamic configuration of topics, brokers and
groups.

Kept for old clients; IncrementalAlterConfigs is the better one (KIP-339). What is not named goes back to
its default. A resource or a key given twice is INVALID_REQUEST; so are loggers, which this API never knew.
With `validate_only` nothing is changed.
"""

from typing import TYPE_CHECKING

from barnabas.handlers.config_resources import altered, replacements
from barnabas.handlers.context import ConfigContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.alter_configs.v2.request import AlterConfigsRequest


async def handle(context: ConfigContext, request: Request) -> Reply:
    body: AlterConfigsRequest = request.body
    results = await context.store.run(
        context.configs.alter,
        replacements(body),
        validate_only=body.validate_only,
        is_checked=request.is_forwarded,
    )
    return Reply(responses=[altered(result) for result in results])
