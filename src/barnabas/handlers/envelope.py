"""Envelope (58), version 0: a request for the controller that another broker forwarded (KIP-590).

A broker that is not the controller (any more) answers NOT_CONTROLLER: the other broker looks for the new one.
A request that is malformed, or that is not one for the controller, is INVALID_REQUEST. Its version was
checked by the broker that forwarded it; one that this broker does not serve is UNSUPPORTED_VERSION.

The stages of the pipeline see the client's request at the broker that got it, and the envelope here. The
principal of the client is not read yet: it is needed once this broker authorises requests.
"""

from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, InvalidRequest, NotController, UnsupportedVersion
from barnabas.base.ranges import FileRange
from barnabas.handlers.answering import answer
from barnabas.handlers.context import ControllerContext, Request
from barnabas.handlers.long_request import Frame
from barnabas.handlers.registry import APIS, FOR_CONTROLLER
from barnabas.handlers.routes import Routes
from barnabas.network.responses import Parts
from barnabas.wire import Reply
from barnabas.wire.header import client_id_of, parse_header, skip_tags

if TYPE_CHECKING:
    from kio.schema.envelope.v0.request import EnvelopeRequest


async def handle(context: ControllerContext, request: Request, *, routes: Routes) -> Reply:
    """`routes` leads to the handler of the embedded request."""
    body: EnvelopeRequest = request.body
    if not context.controller.is_active:
        return Reply(error_code=ErrorCode.not_controller, response_data=None)
    try:
        parts = await _embedded(routes, request, memoryview(body.request_data))
    except (InvalidRequest, NotController, UnsupportedVersion) as error:
        return Reply(error_code=error.code, response_data=None)
    data = b"".join(part for part in parts if not isinstance(part, FileRange))
    return Reply(error_code=ErrorCode.none, response_data=data)


async def _embedded(routes: Routes, request: Request, frame: memoryview) -> Parts:
    header = parse_header(frame)
    if header.api_key not in FOR_CONTROLLER:
        raise InvalidRequest(f"API key {header.api_key} is not a request for the controller")
    api, version = APIS[header.api_key], header.version
    if not api.min_version <= version <= api.newest(routes.serving.settings.value):
        raise UnsupportedVersion(f"{api.name} version {version} is not supported")
    route = await routes.load_in_thread(api, version)
    position = skip_tags(frame, header.end) if route.has_header_tags else header.end
    embedded = request._replace(
        api_key=api.key,
        version=version,
        correlation_id=header.correlation_id,
        client_id=client_id_of(frame),
        body=None,
        raw=None,
        size=len(frame),
        is_forwarded=True,
    )
    handle_here = partial(route.handler, route.context)
    return await answer(routes.serving, handle_here, embedded, Frame(frame, position, route.newest))
