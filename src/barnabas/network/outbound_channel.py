"""One connection to another broker: requests out, responses back in the same order.

The channel connects at the first request, begins with ApiVersions, and connects again after a failure, with a
backoff that grows. A request waits for the connection within its own timeout. Invariants:
- Every request ends: with its response, with `BrokerDisconnected`, or with `UnsupportedVersion`.
- A request is sent at most once. After `BrokerDisconnected` the broker may have handled it or not.
- A response that is late closes the connection: it would hold up all that follow.
Used on the event loop's thread. The time is the loop's, so a loop with virtual time simulates it.
"""

import asyncio
import logging
import struct
from asyncio import AbstractEventLoop, Future, Task, TimerHandle
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from barnabas import __version__
from barnabas.base.errors import KafkaError, UnsupportedVersion
from barnabas.network.errors import BrokerDisconnected
from barnabas.network.framing import BadFrame
from barnabas.network.response_frames import ResponseFrames
from barnabas.network.transport import Connect, Endpoint, Transport
from barnabas.wire.client_api_versions import (
    NEWEST,
    OLDEST,
    UNSUPPORTED_VERSION,
    ServedVersions,
    api_versions_request,
    parse_api_versions,
)
from barnabas.wire.header import skip_tags
from barnabas.wire.message_codec import Versions
from barnabas.wire.outgoing_request import RequestBuilder, frame_head
from barnabas.wire.response_reader import MALFORMED

logger = logging.getLogger("network")

_CORRELATION_ID = struct.Struct(">i")
_LARGEST_RESPONSE = 2**31 - 1
_LARGEST_API_VERSIONS_RESPONSE = 1 << 20
"""The bytes of another protocol, read as a length, are a huge number."""
_API_VERSIONS = 18
_MAX_CORRELATION_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """All in seconds. The defaults are those of Kafka's brokers."""

    client_id: str
    request_timeout: float = 30.0
    connection_setup_timeout: float = 10.0
    reconnect_backoff: float = 0.05
    reconnect_backoff_max: float = 1.0
    backoff_jitter: float = 0.2


class Response(NamedTuple):
    version: int
    body: memoryview
    """Without the header. The view keeps its buffer: records in it need no copy."""


@dataclass(slots=True, eq=False)
class _Waiting:
    request: RequestBuilder
    future: "Future[Response]"
    timeout: float
    timer: TimerHandle | None = None
    correlation_id: int = 0
    version: int = 0
    is_flexible: bool = False


class OutboundChannel:
    def __init__(
        self,
        endpoint: Endpoint,
        settings: ChannelSettings,
        connect: Connect,
        loop: AbstractEventLoop,
        random: Random,
    ) -> None:
        self.endpoint: Endpoint = endpoint
        self.is_closed: bool = False
        self.served: Mapping[int, Versions] | None = None
        """The versions that the broker serves, by API key; None while there is no connection."""
        self._settings: ChannelSettings = settings
        self._connect: Connect = connect
        self._loop: AbstractEventLoop = loop
        self._random: Random = random
        self._failures: int = 0
        self._next_attempt: float = 0.0
        self._attempt: Task[None] | None = None
        self._transport: Transport | None = None
        self._frames: ResponseFrames = ResponseFrames(_LARGEST_API_VERSIONS_RESPONSE)
        self._correlation_id: int = 0
        self._negotiation: Future[memoryview] | None = None
        self._lost: BrokerDisconnected | None = None
        """Why the connection ended before it was established."""
        self._unsent: deque[_Waiting] = deque()
        self._in_flight: deque[_Waiting] = deque()

    # --- requests -----------------------------------------------------------------------------------

    def send(self, request: RequestBuilder, timeout: float | None = None) -> "Future[Response]":
        """Returns a future with the response. A cancelled future drops its response."""
        future: Future[Response] = self._loop.create_future()
        if self.is_closed:
            future.set_exception(BrokerDisconnected(f"The channel to {self.endpoint} is closed"))
            return future
        seconds = self._settings.request_timeout if timeout is None else timeout
        waiting = _Waiting(request, future, seconds)
        waiting.timer = self._loop.call_later(seconds, self._on_timeout, waiting)
        if self.served is not None:
            self._write(waiting, self.served)
        else:
            self._unsent.append(waiting)
            if self._attempt is None:
                self._attempt = self._loop.create_task(self._establish())
        return future

    def close(self) -> None:
        """Fail every request that waits. Idempotent."""
        if not self.is_closed:
            self.is_closed = True
            self._drop(f"The channel to {self.endpoint} is closed")

    @property
    def waiting(self) -> int:
        """The number of requests without a response."""
        return len(self._unsent) + len(self._in_flight)

    def _write(self, waiting: _Waiting, served: Mapping[int, Versions]) -> None:
        request = waiting.request
        try:
            waiting.version = self._version_of(request, served)
            outgoing = request.build(waiting.version)
        except Exception as error:  # noqa: BLE001  the request fails with it, the connection is good
            _finish(waiting, error)
            return
        waiting.correlation_id, waiting.is_flexible = self._next_correlation_id(), outgoing.is_flexible
        self._in_flight.append(waiting)
        head = frame_head(outgoing, waiting.correlation_id, self._settings.client_id)
        assert self._transport is not None
        self._transport.write([head, *outgoing.parts])

    def _version_of(self, request: RequestBuilder, served: Mapping[int, Versions]) -> int:
        if not request.is_advertised:
            return request.newest
        theirs = served.get(request.key)
        if theirs is None or theirs.lowest > request.newest or theirs.highest < request.oldest:
            raise UnsupportedVersion(
                f"{self.endpoint} serves no version of {request.api.upper()} between "
                f"{request.oldest} and {request.newest}"
            )
        return min(request.newest, theirs.highest)

    def _next_correlation_id(self) -> int:
        last = self._correlation_id
        self._correlation_id = 1 if last == _MAX_CORRELATION_ID else last + 1
        return self._correlation_id

    def _on_timeout(self, waiting: _Waiting) -> None:
        message = f"{self.endpoint} did not respond to {waiting.request.api.upper()} in {waiting.timeout:g} s"
        if waiting in self._in_flight:
            self._fail(message)
        elif waiting in self._unsent:
            self._unsent.remove(waiting)
            _finish(waiting, BrokerDisconnected(message))

    # --- the connection -----------------------------------------------------------------------------

    async def _establish(self) -> None:
        """Wait for the backoff, connect, negotiate versions, send the requests that wait."""
        delay = self._next_attempt - self._loop.time()
        if delay > 0:
            await asyncio.sleep(delay)
        timeout = self._settings.connection_setup_timeout
        try:
            async with asyncio.timeout(timeout):
                self._frames, self._lost = ResponseFrames(_LARGEST_API_VERSIONS_RESPONSE), None
                self._transport = await self._connect(self.endpoint, self)
                served = await self._negotiate()
        except TimeoutError:
            reason = f"The connection to {self.endpoint} was not set up within {timeout:g} s"
        except OSError as error:
            reason = f"Cannot connect to {self.endpoint}: {error.strerror or error}"
        except KafkaError as error:
            reason = error.message
        except Exception as error:
            logger.exception("Unexpected error while connecting to %s", self.endpoint)
            reason = f"Cannot connect to {self.endpoint}: {error}"
        else:
            self._on_established(served)
            return
        self._attempt = None
        self._fail(reason)

    async def _negotiate(self) -> Mapping[int, Versions]:
        served = await self._request_versions(NEWEST)
        if served.error_code == UNSUPPORTED_VERSION:
            served = await self._request_versions(OLDEST)
        if served.error_code:
            raise BrokerDisconnected(f"{self.endpoint} refused API_VERSIONS with error {served.error_code}")
        return served.versions

    async def _request_versions(self, version: int) -> ServedVersions:
        request = api_versions_request(version, "barnabas", __version__)
        correlation_id = self._next_correlation_id()
        if self._lost is not None:
            raise self._lost
        assert self._transport is not None
        self._negotiation = self._loop.create_future()
        self._transport.write([frame_head(request, correlation_id, self._settings.client_id), *request.parts])
        try:
            frame = await self._negotiation
        finally:
            self._negotiation = None
        if _CORRELATION_ID.unpack_from(frame)[0] != correlation_id:
            raise self._not_kafka()
        try:
            return parse_api_versions(version, frame[_CORRELATION_ID.size :])
        except MALFORMED as error:
            raise self._not_kafka() from error

    def _on_established(self, served: Mapping[int, Versions]) -> None:
        self._failures, self._attempt = 0, None
        self._frames.largest = _LARGEST_RESPONSE
        self.served = served
        unsent, self._unsent = self._unsent, deque()
        for waiting in unsent:
            if not waiting.future.done():
                self._write(waiting, served)

    def _not_kafka(self) -> BrokerDisconnected:
        return BrokerDisconnected(
            f"{self.endpoint} does not speak the Kafka protocol (is it a plaintext listener?)"
        )

    def _fail(self, reason: str) -> None:
        """The connection is lost: the next one is attempted after a backoff."""
        settings = self._settings
        grown = settings.reconnect_backoff * 2.0 ** min(self._failures, 30)
        jitter = self._random.uniform(1 - settings.backoff_jitter, 1 + settings.backoff_jitter)
        self._failures += 1
        self._next_attempt = self._loop.time() + min(grown, settings.reconnect_backoff_max) * jitter
        logger.debug("The connection to %s failed: %s", self.endpoint, reason)
        self._drop(reason)

    def _drop(self, reason: str) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.cancel()
        transport, self._transport = self._transport, None
        self.served = None
        if transport is not None:
            transport.close()
        waiting = [*self._in_flight, *self._unsent]
        self._in_flight.clear()
        self._unsent.clear()
        for each in waiting:
            _finish(each, BrokerDisconnected(reason))

    # --- called by the transport ---------------------------------------------------------------------

    def get_buffer(self) -> memoryview:
        return self._frames.get_buffer()

    def received(self, count: int) -> None:
        try:
            frames = self._frames.received(count)
        except BadFrame:
            self._on_violation()
            return
        for frame in frames:
            if self._negotiation is not None:
                if not self._negotiation.done():
                    self._negotiation.set_result(frame)
            elif not self._complete_oldest(frame):
                self._on_violation()
                return

    def on_disconnected(self, reason: str) -> None:
        self._end_connection(BrokerDisconnected(f"{self.endpoint}: {reason}"))

    def _on_violation(self) -> None:
        self._end_connection(self._not_kafka())

    def _end_connection(self, error: BrokerDisconnected) -> None:
        if self.served is not None:
            self._fail(error.message)
            return
        self._lost = error  # the attempt to connect fails with it
        if self._negotiation is not None and not self._negotiation.done():
            self._negotiation.set_exception(error)

    def _complete_oldest(self, frame: memoryview) -> bool:
        """Returns False if the frame is not the response to the oldest request."""
        if not self._in_flight or _CORRELATION_ID.unpack_from(frame)[0] != self._in_flight[0].correlation_id:
            return False
        waiting = self._in_flight.popleft()
        begin = _CORRELATION_ID.size
        try:
            # The response of ApiVersions has a header without tags in every version.
            if waiting.is_flexible and waiting.request.key != _API_VERSIONS:
                begin = skip_tags(frame, begin)
        except KafkaError:
            self._in_flight.appendleft(waiting)
            return False
        _finish(waiting, Response(waiting.version, frame[begin:]))
        return True


def _finish(waiting: _Waiting, outcome: Response | Exception) -> None:
    if waiting.timer is not None:
        waiting.timer.cancel()
    if waiting.future.done():
        return
    if isinstance(outcome, Exception):
        waiting.future.set_exception(outcome)
    else:
        waiting.future.set_result(outcome)
