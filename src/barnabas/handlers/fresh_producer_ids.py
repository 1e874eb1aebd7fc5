"""A producer id that nobody has had: at once from the broker's block, or when the next block is there."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, error_of
from barnabas.handlers.context import Context
from barnabas.wire import Reply

Answer = Reply | Deferred[Reply]


def with_fresh_id(
    context: Context, use: Callable[[int], Answer], refuse: Callable[[ErrorCode], Reply]
) -> Answer | Coroutine[Any, Any, Reply]:
    """What `use` makes of an unused id; `refuse` if there is none to be had."""
    producer_id = context.producer_ids.next_if_ready()
    return _from_next_block(context, use, refuse) if producer_id is None else use(producer_id)


async def _from_next_block(
    context: Context, use: Callable[[int], Answer], refuse: Callable[[ErrorCode], Reply]
) -> Reply:
    try:
        producer_id = await context.store.run(context.producer_ids.next_producer_id)
    except Exception as error:  # noqa: BLE001  whatever the store says, the client is told
        return refuse(error_of(error)[0])
    answer = use(producer_id)
    return answer if isinstance(answer, Reply) else await _told(answer)


async def _told(answer: Deferred[Reply]) -> Reply:
    if not answer.is_done:
        done = asyncio.get_running_loop().create_future()
        answer.when_done(lambda _: done.set_result(None))
        await done
    return answer.result()
