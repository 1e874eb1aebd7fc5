"""A request outside of its connection's turn: parsed, handled and encoded in one coroutine.

For requests that are copied from the receive buffer: those that the controller may have to answer, and those
that another broker forwarded.
"""

import asyncio

from barnabas.handlers.context import Request, Serving
from barnabas.handlers.long_request import (
    Frame,
    Handle,
    answer_long,
    encode_in_slices,
    is_long,
    settled,
)
from barnabas.network.responses import Parts
from barnabas.wire import parse_request


async def answer(serving: Serving, handle: Handle, request: Request, frame: Frame) -> Parts:
    """Header and body of the response. Raises InvalidRequest if the request is malformed."""
    if is_long(request.api_key, len(frame.data)):
        return await answer_long(serving, request, frame, handle)
    body, raw = parse_request(request.api_key, request.version, frame.newest, frame.data, frame.position)
    request = request._replace(body=body, raw=raw)
    return await encode_in_slices(serving, request, await settled(handle(request)))


async def parsed(serving: Serving, request: Request, frame: Frame) -> Request:
    """The request with its body. A thread parses a long one."""
    arguments = request.api_key, request.version, frame.newest, frame.data, frame.position
    if is_long(request.api_key, len(frame.data)):
        loop = asyncio.get_running_loop()
        body, raw = await loop.run_in_executor(serving.executor, parse_request, *arguments)
    else:
        body, raw = parse_request(*arguments)
    return request._replace(body=body, raw=raw)
