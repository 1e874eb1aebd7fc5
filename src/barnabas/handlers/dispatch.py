"""From a frame to its handler and back to bytes.

Errors of a request are data in its response, made by its handler. What reaches this file is a protocol
violation (the connection is closed, with one log line) or an unexpected error (logged with its traceback; the
connection is closed, because a response that may be wrong must not be sent).
"""

import asyncio
import logging
import struct
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from barnabas.base.deferred import Deferred
from barnabas.base.errors import InvalidRequest, KafkaError
from barnabas.base.loop_holds import HOLD_SECONDS
from barnabas.handlers import api_versions
from barnabas.handlers.context import Request, Serving
from barnabas.handlers.contexts import Contexts
from barnabas.handlers.forwarding import Forwarding
from barnabas.handlers.held_request import api_name, details_of, note_frame
from barnabas.handlers.long_request import (
    Frame,
    answer_long,
    encode_in_slices,
    is_long,
    long_array_of,
)
from barnabas.handlers.pipeline import Pipeline, Stage
from barnabas.handlers.registry import API_VERSIONS, APIS, OFFSET_COMMIT, Api
from barnabas.handlers.routes import Route, Routes
from barnabas.network.connection import Connection, OnFrame
from barnabas.network.responses import Parts, Pending, size_of
from barnabas.wire import Reply, encode_response, parse_request
from barnabas.wire.header import RequestHeader, client_id_of, parse_header, skip_tags

logger = logging.getLogger("requests")

_LENGTH = struct.Struct(">i")
_COPIES = 2
"""A long request is copied, and cut into parts that are copies again."""
_VERSION_FOR_ALL = 0
"""Of ApiVersions: every client can read it."""
_DEFECT = "Unexpected error in a request of %r: the connection is closed"


class Dispatcher:
    def __init__(
        self,
        contexts: Contexts,
        loop: asyncio.AbstractEventLoop,
        routes: Routes | None = None,
        stages: Sequence[Stage] = (),
    ) -> None:
        """Without `stages` a frame goes straight to its handler."""
        self._serving: Serving = contexts.serving
        self._forwarding: Forwarding = contexts.forwarding
        self._loop: asyncio.AbstractEventLoop = loop
        self._tasks: set[asyncio.Task[None]] = set()
        self._first_uses: set[asyncio.Task[None]] = set()
        """Requests that wait until their route is loaded."""
        self._routes: Routes = routes or Routes(contexts)
        self._loaded: dict[tuple[int, ...], Route] = self._routes.loaded
        self.on_frame: OnFrame = self._handle
        """Called by the connection for each request, in order."""
        if stages:
            memory, monotonic = self._serving.request_memory, self._serving.clock.monotonic
            self.on_frame = Pipeline(self._handle, stages, loop, monotonic, memory).on_frame

    def _handle(self, connection: Connection, frame: memoryview) -> Parts | Pending | None:
        try:
            if connection.shortcut is not None:
                answer = connection.shortcut(frame)
                if answer is not None:
                    return answer
            header = parse_header(frame)
            route = self._loaded.get(header[:2])
            if route is None:
                return self._on_first_use(connection, frame, header)
            return self._dispatch(connection, frame, header, route)
        except KafkaError as error:
            connection.close(error.message, is_fault=True)
        except Exception:
            logger.exception(_DEFECT, connection)
            connection.close("internal error", is_fault=True)
        return None

    def _on_first_use(
        self, connection: Connection, frame: memoryview, header: RequestHeader
    ) -> Parts | Pending | None:
        """The route is not loaded yet, or the request is one that is not served."""
        api = APIS.get(header.api_key)
        if api is None:
            raise InvalidRequest(f"unknown API key {header.api_key}")
        version = header.version
        if not api.min_version <= version <= api.newest(self._serving.settings.value):
            if api.key != API_VERSIONS:
                raise InvalidRequest(f"{api.name} version {version} is not supported")
            version = _VERSION_FOR_ALL
        if (api.key, version) in self._loaded or self._routes.thread is None:
            return self._begin(connection, frame, header, self._routes.load_here(api, version), version)
        answer = Pending()
        work = self._begin_later(connection, memoryview(bytes(frame)), header, api, version, answer)
        task = self._loop.create_task(work)
        self._first_uses.add(task)
        task.add_done_callback(self._first_uses.discard)
        return answer

    def _begin(
        self, connection: Connection, frame: memoryview, header: RequestHeader, route: Route, version: int
    ) -> Parts | Pending | None:
        if header.version == version:
            return self._dispatch(connection, frame, header, route)
        # KIP-511: the client learns from a version 0 response which version to use.
        reply = api_versions.unsupported_version_reply()
        return [_framed(encode_response(API_VERSIONS, version, header.correlation_id, reply))]

    async def _begin_later(
        self,
        connection: Connection,
        frame: memoryview,
        header: RequestHeader,
        api: Api,
        version: int,
        answer: Pending,
    ) -> None:
        """Load the route in a thread, then do what `on_frame` does: also if the client has hung up."""
        memory, holds = self._serving.request_memory, self._serving.holds
        memory.hold(len(frame))
        try:
            route = await self._routes.load_in_thread(api, version)
            started = holds.clock()
            result = self._begin(connection, frame, header, route, version)
            seconds = holds.clock() - started
            if seconds > HOLD_SECONDS:
                note_frame(holds, connection, frame, seconds)
            answer.become(result)
        except KafkaError as error:
            connection.close(error.message, is_fault=True)
        except Exception:
            logger.exception(_DEFECT, connection)
            connection.close("internal error", is_fault=True)
        finally:
            memory.free(len(frame))
            if connection.is_closed:
                connection.shortcut = None  # it knows the connection

    def _dispatch(
        self, connection: Connection, frame: memoryview, header: RequestHeader, route: Route
    ) -> Parts | Pending | None:
        position = skip_tags(frame, header.end) if route.has_header_tags else header.end
        if route.takes_frame:
            result: Parts | Pending | None = route.handler(route.context, connection, header, frame, position)
            return result
        if route.is_for_controller:
            return self._for_controller(connection, frame, header, route, position)
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
            principal=connection.principal,
        )
        if long:
            copy = Frame(memoryview(bytes(frame)), position, route.newest)
            work = answer_long(self._serving, request, copy, partial(route.handler, route.context))
            return self._later(connection, request, work, memory=_COPIES * len(frame))
        reply = route.handler(route.context, request)
        if header.api_key == OFFSET_COMMIT:
            from barnabas.handlers import repeated_commit  # loaded with the first commit, not with the broker

            repeated_commit.remember(route.context, connection, header, frame, body, self._loop.call_soon)
        if isinstance(reply, Reply):
            return self._answered(connection, request, reply)
        if isinstance(reply, Deferred):
            return self._when_done(connection, request, reply)
        return self._later(connection, request, self._awaited(request, reply))

    def _for_controller(
        self,
        connection: Connection,
        frame: memoryview,
        header: RequestHeader,
        route: Route,
        position: int,
    ) -> Pending:
        """Have the controller answer: this broker, or the one that the request is forwarded to."""
        request = Request(
            *header[:3],
            client_id_of(frame),
            connection.peer,
            None,
            None,
            size=len(frame),
            principal=connection.principal,
        )
        copy = Frame(memoryview(bytes(frame)), position, route.newest)
        work = self._forwarding.answer(route.handler, route.context, request, copy)
        return self._later(connection, request, work, memory=_COPIES * len(frame))

    def _answered(self, connection: Connection, request: Request, reply: Reply) -> Parts | Pending:
        if long_array_of(request, reply) is None:
            return [_encoded(request, reply)]
        return self._later(connection, request, encode_in_slices(self._serving, request, reply))

    def _when_done(
        self, connection: Connection, request: Request, answer: Deferred[Reply]
    ) -> Parts | Pending:
        if answer.is_done:
            return self._answered(connection, request, answer.result())
        pending = Pending()

        # Not at once: an answered connection goes on with its next request, and the code that completes the
        # answer may be in the middle of a change that this request would interfere with.
        def on_done(done: "Deferred[Reply]") -> None:
            self._loop.call_soon(self._finish, connection, request, pending, done)

        answer.when_done(on_done)
        return pending

    def _finish(
        self, connection: Connection, request: Request, pending: Pending, answer: Deferred[Reply]
    ) -> None:
        holds = self._serving.holds
        started = holds.clock()
        try:
            reply = answer.result()
            if long_array_of(request, reply) is not None:
                work = encode_in_slices(self._serving, request, reply)
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
        return await encode_in_slices(self._serving, request, await work)

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
        self._serving.request_memory.hold(memory)

        async def finish() -> None:
            name = api_name(request.api_key)
            try:
                parts = await self._serving.holds.measured(name, work, lambda: details_of(request))
                answer.complete([_LENGTH.pack(size_of(parts)), *parts])
            except InvalidRequest as error:
                connection.close(error.message, is_fault=True)
            except Exception:
                logger.exception(_DEFECT, connection)
                connection.close("internal error", is_fault=True)
            finally:
                self._serving.request_memory.free(memory)

        # Not cancelled with the connection: a request is carried out even if the client disconnects.
        task = self._loop.create_task(finish())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return answer

    async def begun(self) -> None:
        """Wait until every request that was received is begun."""
        if self._first_uses:
            await asyncio.gather(*self._first_uses, return_exceptions=True)

    async def drain(self) -> None:
        """Wait for what is under way."""
        await self.begun()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)


def _encoded(request: Request, reply: Reply) -> bytes:
    return _framed(encode_response(request.api_key, request.version, request.correlation_id, reply))


def _framed(payload: bytes) -> bytes:
    return _LENGTH.pack(len(payload)) + payload
