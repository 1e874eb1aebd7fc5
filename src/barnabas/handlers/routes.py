"""What each version of an API needs to be answered: its handler, its schemas, its coordinator's modules.

A broker loads what its clients use. To load a route takes 5 to 150 ms of CPU time, so a thread does it at the
first request, and only the connection that sent it waits. A lookup of a loaded route is one `dict` access.

Belongs to the loop's thread, except `load`, which any thread may call.
"""

import asyncio
import sys
from concurrent.futures import Executor
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from barnabas.handlers.context import Serving
from barnabas.handlers.contexts import Contexts
from barnabas.handlers.registry import (
    AS_IT_CAME,
    ENVELOPE,
    FETCH,
    FOR_CONTROLLER,
    OFFSET_COMMIT,
    PRODUCE,
    Api,
    handler_of,
)
from barnabas.wire.schemas import is_written_by_hand, request_schema, response_schema

_ALSO_LOADED: dict[int, tuple[str, ...]] = {
    FETCH: ("barnabas.handlers.long_fetch",),
    OFFSET_COMMIT: ("barnabas.handlers.repeated_commit",),
}
"""Modules that a request may need beside its handler."""
_GROUP_APIS = frozenset({OFFSET_COMMIT, 9, 11, 12, 13, 14, 15, 16, 27, 28, 42, 47, 68, 69})
_TRANSACTION_APIS = frozenset({22, 24, 25, 26, 28, 65, 66})
_SWITCH_SECONDS = 0.0005
"""How long the loading thread may keep the interpreter while the loop wants it; Python's own is 5 ms, and a
request takes several turns.
"""


class Route(NamedTuple):
    handler: Any
    context: Any
    """The parts of the broker that the handler needs."""
    newest: int
    has_header_tags: bool
    takes_frame: bool
    """Produce and Fetch parse their request themselves, without a copy."""
    is_for_controller: bool
    """Only the controller carries it out."""


class Routes:
    def __init__(self, contexts: Contexts, thread: Executor | None = None) -> None:
        """`thread` has one worker. Without it a route is loaded where it is first used."""
        self.loaded: dict[tuple[int, ...], Route] = {}
        """By API key and version."""
        self.thread: Executor | None = thread
        self._contexts: Contexts = contexts
        self._loading: dict[tuple[int, ...], asyncio.Future[Route]] = {}

    def load_here(self, api: Api, version: int) -> Route:
        route = self.loaded[api.key, version] = self.load(api, version)
        return route

    @property
    def serving(self) -> Serving:
        return self._contexts.serving

    async def load_in_thread(self, api: Api, version: int) -> Route:
        """Requests of several connections wait for the same route."""
        key = (api.key, version)
        route = self.loaded.get(key)
        if route is not None:
            return route
        loading = self._loading.get(key)
        if loading is None:
            run = asyncio.get_running_loop().run_in_executor
            loading = self._loading[key] = run(self.thread, self._load_gently, api, version)
        try:
            route = self.loaded[key] = await asyncio.shield(loading)
            return route
        finally:
            self._loading.pop(key, None)

    def _load_gently(self, api: Api, version: int) -> Route:
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            return self.load(api, version)
        finally:
            sys.setswitchinterval(before)

    def load(self, api: Api, version: int) -> Route:
        newest = version if api.key in AS_IT_CAME else api.max_version
        handler = handler_of(api.key)
        for name in _ALSO_LOADED.get(api.key, ()):
            import_module(name)
        if api.key in _GROUP_APIS:
            self._contexts.groups.group_host.load()
        if api.key in _TRANSACTION_APIS:
            self._contexts.transactions.transaction_host.load()
        schema = request_schema(api.key, version, newest)
        takes_frame = api.key in (PRODUCE, FETCH)
        if not takes_frame and not is_written_by_hand(api.key):
            response_schema(api.key, version)
        if api.key == ENVELOPE:
            handler = partial(handler, routes=self)
        return Route(
            handler,
            self._contexts.of(api.key),
            newest,
            schema.has_header_tags,
            takes_frame,
            api.key in FOR_CONTROLLER,
        )
