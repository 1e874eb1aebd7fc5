"""Requests that name very many things, and answers that list very many: made in slices of a few milliseconds.

Reading, handling and encoding cost some microseconds for each thing named, on the event loop that all
connections share. A request over a few kilobytes is therefore cut into parts (`wire.array_split`). Where each
element is answered by itself, every part goes through the API's handler as a request of its own, and what is
kept of its answer is bytes (`wire.reply_collector`). A request that must be seen as a whole (a topic may be
named once only) is read in parts and handled at once. Between two parts other connections have their turn.

An answer with a long array is encoded in slices too, however short the request was.
"""

import asyncio
import dataclasses
import itertools
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple, TypeVar

from barnabas.base.deferred import Deferred
from barnabas.base.deferred_tasks import awaited
from barnabas.handlers.context import Request, Serving
from barnabas.handlers.long_request_table import TABLE, Cut, cut_of
from barnabas.network.responses import Parts
from barnabas.network.slices import Slices
from barnabas.wire import Reply, encode_response, parse_request
from barnabas.wire.reply_collector import ReplyCollector
from barnabas.wire.schemas import response_schema

_LONG_ARRAY = 100
_OFFSET_COMMIT = 8
_prepared: set[tuple[int, int]] = set()
"""APIs and versions whose schemas are loaded."""

T = TypeVar("T")
Handle = Callable[[Request], Any]
"""A handler with its context."""


class Frame(NamedTuple):
    """A copy of a request: the receive buffer is used again before a long one is done."""

    data: memoryview
    position: int
    """Where the body begins."""
    newest: int
    """The version in whose shape the handler wants it."""


def is_long(api_key: int, size: int) -> bool:
    """Whether a request of `size` bytes is worth being cut."""
    entry = TABLE.get(api_key)
    return entry is not None and size > entry.frame_bytes


async def answer_long(serving: Serving, request: Request, frame: Frame, handle: Handle) -> Parts:
    """The encoded response; `request` has no body yet."""
    await _prepare(serving, request)
    cut = cut_of(request.api_key, request.version)
    if cut is None:  # this version has one thing only where newer ones have an array
        (only,) = _requests(request, frame, [bytes(frame.data[frame.position :])], 0)
        return await encode_in_slices(serving, only, await settled(handle(only)))
    found = await driven(cut.split.bodies(frame.data, frame.position), serving.slices)
    bodies = [bytes(frame.data[frame.position :])] if found is None else found.bodies
    total = 0 if found is None else found.total
    requests = _requests(request, frame, bodies, total)
    if cut.answer and total:
        return await _answer_parts(serving, request, requests, cut, handle)
    whole = await _joined(requests, cut.name, serving.slices)
    reply = await settled(handle(whole))
    return await encode_in_slices(serving, whole, reply)


def _requests(request: Request, frame: Frame, bodies: list[bytes], total: int) -> Iterator[Request]:
    bodies.reverse()
    while bodies:
        view = memoryview(bodies.pop())
        body, raw = parse_request(request.api_key, request.version, frame.newest, view, 0)
        yield request._replace(body=body, raw=raw, elements=total)


async def _answer_parts(
    serving: Serving, request: Request, parts: Iterator[Request], cut: Cut, handle: Handle
) -> Parts:
    as_reply = TABLE[request.api_key].as_reply
    collector = ReplyCollector(request.api_key, request.version, cut.answer)
    rest = Reply()
    for part in parts:
        reply = await settled(handle(part))
        fields = dict(vars(reply))
        for each in fields.pop(cut.answer[0], ()):
            collector.add(each if as_reply is None else as_reply(each))
        if not vars(rest).get("error_code"):
            rest = Reply(**fields)
        await serving.slices.pause()
    return [*collector.encode(request.correlation_id, rest)]


async def _joined(parts: Iterator[Request], name: str, slices: Slices) -> Request:
    """One request with the arrays of all parts put together."""
    collected: list[Request] = []
    for part in parts:
        collected.append(part)
        await slices.pause()
    first = collected[0]
    if len(collected) == 1:
        return first
    return first._replace(
        body=_with_all(first.body, name, [part.body for part in collected]),
        raw=_with_all(first.raw, name, [part.raw for part in collected]),
    )


def _with_all(first: Any, name: str, bodies: list[Any]) -> Any:
    if not hasattr(first, name):
        name = next(each for each in ("topics",) if hasattr(first, each))  # DeleteTopics renamed it
    elements = tuple(itertools.chain.from_iterable(getattr(body, name) for body in bodies))
    return dataclasses.replace(first, **{name: elements})


# --- answers ---------------------------------------------------------------------------------------------


def long_array_of(request: Request, reply: Reply) -> str | None:
    """The field of an answer that is too long to be encoded at once, or is made while it is encoded."""
    if request.api_key != _OFFSET_COMMIT:
        for name, value in vars(reply).items():
            if isinstance(value, list | tuple):
                if len(value) > _LONG_ARRAY:
                    return name
            elif isinstance(value, Iterator):
                return name
    return None


async def encode_in_slices(serving: Serving, request: Request, reply: Reply) -> Parts:
    """Header and body of the response."""
    name = long_array_of(request, reply)
    if name is None:
        return [encode_response(request.api_key, request.version, request.correlation_id, reply)]
    await _prepare(serving, request)
    collector = ReplyCollector(request.api_key, request.version, (name,))
    for element in vars(reply).pop(name):
        collector.add(element)
        await serving.slices.pause()
    return [*collector.encode(request.correlation_id, reply)]


async def _prepare(serving: Serving, request: Request) -> None:
    """Load schemas that are not loaded yet in a thread: all versions of a response may take 100 ms."""
    key = (request.api_key, request.version)
    if key not in _prepared:
        await asyncio.get_running_loop().run_in_executor(serving.executor, _load, *key)
        _prepared.add(key)


def _load(api_key: int, version: int) -> None:
    response_schema(api_key, version)
    if api_key in TABLE:
        cut_of(api_key, version)


async def settled(answer: Any) -> Reply:
    """What a handler returned: a reply, a deferred one, or a coroutine."""
    if isinstance(answer, Reply):
        return answer
    if not isinstance(answer, Deferred):
        reply: Reply = await answer
        return reply
    return await awaited(answer)


async def driven(steps: Generator[None, None, T], slices: Slices) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        await slices.pause()
