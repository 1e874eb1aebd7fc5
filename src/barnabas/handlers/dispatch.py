"""From a frame to its handler and back to bytes.

Errors of a request are data in its response, made by its handler. What reaches this file is a protocol
violation (the connection is closed, with one log line) or a defect (logged with its traceback, the
connection is closed: a response nobody can trust must not be sent).
"""

import asyncio
import logging
import struct
from collections.abc import Coroutine
from typing import Any, NamedTuple

from barnabas.base.deferred import Deferred
from barnabas.base.errors import InvalidRequest, KafkaError
from barnabas.base.loop_holds import HOLD_SECONDS
from barnabas.handlers import api_versions
from barnabas.handlers.context import Context, Request
from barnabas.handlers.held_request import api_name, details_of
from barnabas.handlers.long_request import (
    Frame,
    answer_long,
    encode_in_slices,
    is_long,
    long_array_of,
)
from barnabas.handlers.registry import (
    API_VERSIONS,
    APIS,
    AS_IT_CAME,
    FETCH,
    OFFSET_COMMIT,
    PRODUCE,
    Api,
    handler_of,
)
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending, size_of
from barnabas.wire import Reply, encode_response, parse_request
from barnabas.wire.header import RequestHeader, client_id_of, parse_header, skip_tags
from barnabas.wire.schemas import request_schema

logger = logging.getLogger("requests")

_LENGTH = struct.Struct(">i")
_COPIES = 2
"""A long request is copied, and cut into parts that are copies again."""
_DEFECT = "A request of %r failed in a way nobody foresaw"


class _Route(NamedTuple):
    """What a version of an API needs, looked up once."""

    handler: Any
    newest: int
    has_header_tags: bool
    takes_frame: bool
    """Produce and Fetch read their request themselves, in place."""


def _route(api: Api, version: int) -> _Route:
    newest = version if api.key in AS_IT_CAME else api.max_version
    schema = request_schema(api.key, version, newest)
    return _Route(handler_of(api.key), newest, schema.has_header_tags, api.key in (PRODUCE, FETCH))


class Dispatcher:
    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context: Context = context
        self._loop: asyncio.AbstractEventLoop = loop
        self._tasks: set[asyncio.Task[None]] = set()
        self._routes: dict[tuple[int, ...], _Route] = {}

    def on_frame(self, connection: Connection, frame: memoryview) -> Parts | Pending | None:
        """Called by the connection for each request, in order."""
        try:
            if connection.shortcut is not None:
                answer = connection.shortcut(frame)
                if answer is not None:
                    return answer
            header = parse_header(frame)
            route = self._routes.get(header[:2])
            if route is None:
                api = APIS.get(header.api_key)
                if api is None:
                    raise InvalidRequest(f"unknown API key {header.api_key}")
                if not api.min_version <= header.version <= api.newest(self._context.config):
                    return self._on_unsupported_version(header, api)
                route = self._routes[header[:2]] = _route(api, header.version)
            return self._dispatch(connection, frame, header, route)
        except KafkaError as error:
            connection.close(error.message, is_fault=True)
        except Exception:
            logger.exception(_DEFECT, connection)
            connection.close("internal error", is_fault=True)
        return None

    def _on_unsupported_version(self, header: RequestHeader, api: Api) -> Parts:
        if api.key != API_VERSIONS:
            raise InvalidRequest(f"{api.name} version {header.version} is not supported")
        # KIP-511: the client learns from a version 0 answer which version to ask with.
        reply = api_versions.unsupported_version_reply()
        return [_framed(encode_response(API_VERSIONS, 0, header.correlation_id, reply))]

    def _dispatch(
        self, connection: Connection, frame: memoryview, header: RequestHeader, route: "_Route"
    ) -> Parts | Pending | None:
        position = skip_tags(frame, header.end) if route.has_header_tags else header.end
        if route.takes_frame:
            result: Parts | Pending | None = route.handler(self._context, connection, header, frame, position)
            return result
        long = is_long(header.api_key, len(frame))
        body: Any = None
        raw: Any = None
        if not long:
            body, raw = parse_request(header.api_key, header.version, route.newest, frame, position)
        request = Request(
            header.api_key,
            header.version,
            header.correlation_id,
            client_id_of(frame),
            connection.peer,
            body,
            raw,
            size=len(frame),
        )
        if long:
            copy = Frame(memoryview(bytes(frame)), position, route.newest)
            work = answer_long(self._context, request, copy, route.handler)
            return self._later(connection, request, work, memory=_COPIES * len(frame))
        reply = route.handler(self._context, request)
        if header.api_key == OFFSET_COMMIT:
            from barnabas.handlers import repeated_commit  # loaded with the first commit, not with the broker

            repeated_commit.remember(self._context, connection, header, frame, body, self._loop.call_soon)
        if isinstance(reply, Reply):
            return self._answered(connection, request, reply)
        if isinstance(reply, Deferred):
            return self._when_done(connection, request, reply)
        return self._later(connection, request, self._awaited(request, reply))

    def _answered(self, connection: Connection, request: Request, reply: Reply) -> Parts | Pending:
        if long_array_of(request, reply) is None:
            return [_encoded(request, reply)]
        return self._later(connection, request, encode_in_slices(self._context, request, reply))

    def _when_done(
        self, connection: Connection, request: Request, answer: Deferred[Reply]
    ) -> Parts | Pending:
        if answer.is_done:
            return self._answered(connection, request, answer.result())
        pending = Pending()

        # Not at once: an answered connection goes on with its next request, and whoever gives the answer may
        # be in the middle of something that this request would get into.
        def on_done(done: "Deferred[Reply]") -> None:
            self._loop.call_soon(self._finish, connection, request, pending, done)

        answer.when_done(on_done)
        return pending

    def _finish(
        self, connection: Connection, request: Request, pending: Pending, answer: Deferred[Reply]
    ) -> None:
        holds = self._context.holds
        started = holds.clock()
        try:
            reply = answer.result()
            if long_array_of(request, reply) is not None:
                work = encode_in_slices(self._context, request, reply)
                self._later(connection, request, work, pending)
                return
            encoded = _encoded(request, reply)
            seconds = holds.clock() - started
            if seconds > HOLD_SECONDS:
                holds.note(api_name(request.api_key), seconds, details_of(request))
            pending.complete([encoded])
        except Exception:
            logger.exception(_DEFECT, connection)
            connection.close("internal error", is_fault=True)

    async def _awaited(self, request: Request, work: Coroutine[Any, Any, Reply]) -> Parts:
        return await encode_in_slices(self._context, request, await work)

    def _later(
        self,
        connection: Connection,
        request: Request,
        work: Coroutine[Any, Any, Parts],
        pending: Pending | None = None,
        memory: int = 0,
    ) -> Pending:
        """Answer when `work` is done; until then it counts as `memory` bytes of requests."""
        answer = pending or Pending()
        self._context.request_memory.hold(memory)

        async def finish() -> None:
            name = api_name(request.api_key)
            try:
                parts = await self._context.holds.measured(name, work, lambda: details_of(request))
                answer.complete([_LENGTH.pack(size_of(parts)), *parts])
            except InvalidRequest as error:
                connection.close(error.message, is_fault=True)
            except Exception:
                logger.exception(_DEFECT, connection)
                connection.close("internal error", is_fault=True)
            finally:
                self._context.request_memory.free(memory)

        # Not cancelled with the connection: what a client asked for is done even if it hangs up.
        task = self._loop.create_task(finish())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return answer

    async def drain(self) -> None:
        """Wait for what is under way."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)


def _encoded(request: Request, reply: Reply) -> bytes:
    return _framed(encode_response(request.api_key, request.version, request.correlation_id, reply))


def _framed(payload: bytes) -> bytes:
    return _LENGTH.pack(len(payload)) + payload
