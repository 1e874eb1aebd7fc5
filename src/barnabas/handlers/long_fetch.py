"""A Fetch of very many partitions: read from the request, and from the logs, in slices of a few milliseconds.

A fetch session may hold tens of thousands of partitions, and each of its requests reads them all. Appends
only count while such a fetch waits; it reads again, in slices, when what came may be enough.
"""

import asyncio
import logging
from collections.abc import Coroutine
from functools import cache
from typing import Any
from uuid import UUID

from kio.index import load_request_schema

from barnabas.base.errors import InvalidRequest
from barnabas.handlers.context import RecordContext
from barnabas.handlers.fetch import Fetch, Topics, answer
from barnabas.handlers.long_request import driven
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending
from barnabas.wire.array_split import ArraySplit
from barnabas.wire.fetch import (
    API_KEY,
    FIRST_WITH_TOPIC_IDS,
    FetchPartition,
    FetchPartitionResult,
    FetchRequest,
    FetchTopic,
    FetchTopicResult,
    encoded_ahead,
    parse_fetch,
)
from barnabas.wire.header import RequestHeader

logger = logging.getLogger("requests")

_PARTITIONS_PER_PART = 200
_tasks: set[asyncio.Task[None]] = set()
"""The loop does not hold on to its tasks."""


@cache
def _split(version: int) -> ArraySplit:
    entity = load_request_schema(API_KEY, version)
    return ArraySplit(entity, ("topics", "partitions"), _PARTITIONS_PER_PART)


def read_and_answer(
    context: RecordContext, connection: Connection, header: RequestHeader, frame: memoryview, position: int
) -> Pending:
    """A request too long to be parsed at once."""
    copy = memoryview(bytes(frame))

    async def work() -> Parts:
        request = await _parsed(context, header.version, copy, position)
        uses_topic_ids = header.version >= FIRST_WITH_TOPIC_IDS
        steps = context.fetch_sessions.resolve_in_steps(request, uses_topic_ids)
        resolved = await driven(steps, context.serving.slices)
        return await completed(answer(context, connection, header, request, resolved))

    return _started(context, connection, work())


def answer_in_slices(fetch: Fetch) -> Pending:
    """A fetch of more partitions than can be read at once."""
    return _started(fetch.context, fetch.connection, _LongFetch(fetch).parts())


async def _parsed(context: RecordContext, version: int, frame: memoryview, position: int) -> FetchRequest:
    """Each partition once. As in Kafka, the last mention counts, at the position of the first."""
    found = await driven(_split(version).bodies(frame, position), context.serving.slices)
    bodies = [frame[position:]] if found is None else found.bodies
    whole: FetchRequest | None = None
    topics: dict[tuple[str, UUID], dict[int, FetchPartition]] = {}
    for body in bodies:
        part = parse_fetch(version, memoryview(body), 0)
        for topic in part.topics:
            known = topics.setdefault((topic.name, topic.topic_id), {})
            known.update((each.partition, each) for each in topic.partitions)
        whole = whole or part
        await context.serving.slices.pause()
    assert whole is not None
    return whole._replace(
        topics=[FetchTopic(*topic, list(partitions.values())) for topic, partitions in topics.items()]
    )


class _LongFetch:
    """Counts what becomes readable while it waits."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch: Fetch = fetch
        self._added: int = 0
        self._is_over: bool = False
        self._changed: asyncio.Event = asyncio.Event()

    def on_readable(self, added: int) -> None:
        """`added` bytes more; 0: only known after reading."""
        self._added += added or self._fetch.request.min_bytes
        self._changed.set()

    def give_up(self) -> None:
        self._is_over = True
        self._changed.set()

    async def parts(self) -> Parts:
        fetch, slices = self._fetch, self._fetch.context.serving.slices
        loop = asyncio.get_running_loop()
        deadline = loop.time() + fetch.request.max_wait_ms / 1000
        watched = []
        try:
            results = await self._read()
            is_enough = fetch.total >= fetch.request.min_bytes
            if not is_enough and not fetch.has_error and fetch.request.max_wait_ms > 0:
                for partition in fetch.known_partitions():
                    partition.watch(self, fetch.isolation)
                    watched.append(partition)
                    await slices.pause()
                results = await self._until_enough(deadline)
        finally:
            for partition in watched:
                partition.unwatch(self)
        return await completed(fetch.encode_cached(await self._wanted(results)))

    async def _wanted(self, results: list[FetchTopicResult]) -> list[FetchTopicResult]:
        fetch = self._fetch
        wanted: list[FetchTopicResult] = []
        for name, topic_id, partitions in results:
            kept: list[FetchPartitionResult] = []
            for first in range(0, len(partitions), _PARTITIONS_PER_PART):
                part = partitions[first : first + _PARTITIONS_PER_PART]
                for topic in fetch.wanted_results([FetchTopicResult(name, topic_id, part)]):
                    kept += topic.partitions
                await fetch.context.serving.slices.pause()
            if kept:
                wanted.append(FetchTopicResult(name, topic_id, kept))
        return wanted

    async def _until_enough(self, deadline: float) -> list[FetchTopicResult]:
        fetch = self._fetch
        loop = asyncio.get_running_loop()
        while True:
            self._added = 0
            results = await self._read()
            missing = fetch.request.min_bytes - fetch.total
            is_late = self._is_over or loop.time() >= deadline
            if missing <= 0 or fetch.has_error or is_late:
                return results
            while self._added < missing and not self._is_over and loop.time() < deadline:
                self._changed.clear()
                try:
                    async with asyncio.timeout_at(deadline):
                        await self._changed.wait()
                except TimeoutError:
                    break

    async def _read(self) -> list[FetchTopicResult]:
        fetch = self._fetch
        topics: Topics = {}
        left = fetch.begin_reading()
        for key, wanted in fetch.resolved.partitions:
            left -= fetch.read_into(topics, key, wanted, left)
            partitions = topics[key[:2]].partitions
            partitions[-1] = encoded_ahead(fetch.header.version, partitions[-1])
            await fetch.context.serving.slices.pause()
        return list(topics.values())


async def completed(given: Parts | Pending) -> Parts:
    """The parts of an answer, once they are there."""
    if not isinstance(given, Pending):
        return given
    if not given.is_done:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        given.when_complete(lambda: None if done.done() else done.set_result(None))
        try:
            await done
        except asyncio.CancelledError:
            given.cancel()
            raise
    return given.parts


def _started(context: RecordContext, connection: Connection, work: Coroutine[Any, Any, Parts]) -> Pending:
    pending = Pending()

    async def run() -> None:
        try:
            pending.complete(
                await context.serving.holds.measured("Fetch", work, lambda: f"peer {connection!r}")
            )
        except InvalidRequest as error:
            connection.close(error.message, is_fault=True)
        except Exception:
            logger.exception(
                "Unexpected error in a Fetch request of %r: the connection is closed", connection
            )
            connection.close("internal error", is_fault=True)

    task = asyncio.get_running_loop().create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    pending.on_cancel(task.cancel)
    return pending
