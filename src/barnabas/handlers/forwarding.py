"""Requests that only the controller carries out: here if this broker is the controller, else forwarded.

A forwarded request travels unchanged in an envelope (`wire.envelope`) over the inter-broker channel, and the
controller's response is relayed as it is. If there is no controller, if it moves or does not respond, the
request is sent again until its time is over: then it is REQUEST_TIMED_OUT. A request whose response was lost
may be carried out twice: the second attempt of a creation is TOPIC_ALREADY_EXISTS. Both are as in Kafka.

Before it responds, this broker reads from the metadata store what the controller changed: a client finds its
topic at the broker that created it for the client. That has a time limit, and no effect on the response.

Belongs to the event loop's thread. A request that waits here holds up its own connection only.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.errors import ErrorCode, KafkaError, NotController, RequestTimedOut, UnknownServerError
from barnabas.controller.controller import Controller
from barnabas.handlers.answering import answer, parsed
from barnabas.handlers.context import Request, Serving, StoreThread
from barnabas.handlers.forwarded_apis import FORWARDED, ForwardedApi, timeout_ms
from barnabas.handlers.held_request import api_name
from barnabas.handlers.long_request import Frame, encode_in_slices
from barnabas.metadata.cluster import ClusterChange, ClusterMetadata
from barnabas.metadata.image import NO_CONTROLLER
from barnabas.metadata.store import StoreError
from barnabas.network.broker_client import BrokerClient
from barnabas.network.responses import Parts
from barnabas.wire.embedded import embedded_body, with_other_body
from barnabas.wire.envelope import envelope_request, parse_envelope
from barnabas.wire.outgoing_request import RequestBuilder

logger = logging.getLogger("requests")

_PURPOSE = "forwarding"
_BACKOFF_SECONDS = 0.1
_REFRESH_SECONDS = 5.0

T = TypeVar("T")
Here = Callable[[], Awaitable[T]]
"""Carries out a request on this broker, which is the controller. Raises NotController if it is not."""


class Relayed(NamedTuple):
    """The controller's response, with its header."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Forwarding:
    settings: CurrentConfig
    controller: Controller
    cluster: ClusterMetadata
    store: StoreThread
    client: BrokerClient
    serving: Serving
    moves: dict[asyncio.Future[None], None] = field(default_factory=dict)
    """What waits for another controller."""

    def on_change(self, change: ClusterChange) -> None:
        """The cluster metadata has changed. Another controller may answer what its predecessor did not."""
        before, image = change.before, change.image
        if (before.controller_id, before.controller_epoch) != (image.controller_id, image.controller_epoch):
            for future in self.moves:
                if not future.done():
                    future.set_result(None)

    # --- requests of clients ----------------------------------------------------------------------------

    async def answer(self, handler: Any, context: Any, request: Request, frame: Frame) -> Parts:
        """Header and body of the response. `request` has no body yet."""
        here = partial(answer, self.serving, partial(handler, context), request, frame)
        if self.controller.is_active:
            try:
                return await here()
            except NotController as error:
                logger.info("%s is forwarded: %s", api_name(request.api_key), error.message)
        api, request = FORWARDED[request.api_key], await parsed(self.serving, request, frame)
        division = await api.divide(context, request) if api.divide is not None else None
        data = bytes(frame.data)
        if division is not None:
            if division.rest is None:
                return await encode_in_slices(self.serving, request, division.joined(()))
            data = with_other_body(frame.data, frame.position, division.rest)
        try:
            answered = await self._answered(api, request, here, data)
        except KafkaError as error:
            return await encode_in_slices(self.serving, request, api.refused(request.body, error))
        if not isinstance(answered, Relayed):
            return answered
        if division is not None:
            theirs = embedded_body(request.api_key, request.version, answered.data)
            return await encode_in_slices(self.serving, request, division.joined(theirs.responses))
        return [answered.data]

    async def _answered(
        self, api: ForwardedApi, request: Request, here: Here[Parts], data: bytes
    ) -> Parts | Relayed:
        limit = timeout_ms(request.body)
        envelope = envelope_request(data, request.principal, request.peer.host)
        answered = await self.carry_out(here, envelope, None if limit is None else limit / 1000)
        if isinstance(answered, Relayed):
            await self.refresh(api.changed(request.body, self.cluster.image))
        return answered

    # --- the controller, wherever it is -----------------------------------------------------------------

    async def carry_out(
        self, here: Here[T], envelope: RequestBuilder, seconds: float | None = None
    ) -> T | Relayed:
        """Have the controller answer a request: by `here` if it is this broker, else by `envelope`.

        Raises RequestTimedOut after `request.timeout.ms`, or `seconds` if that is less.
        """
        loop = asyncio.get_running_loop()
        longest = self.settings.value.request_timeout_ms / 1000
        deadline = loop.time() + (longest if seconds is None else min(seconds, longest))
        while True:
            try:
                if self.controller.is_active:
                    return await here()
                return await self._send(envelope, deadline - loop.time())
            except NotController as error:
                reason = error.message
            remaining = deadline - loop.time()
            if remaining <= 0:
                raise RequestTimedOut(f"The controller did not answer in time: {reason}")
            await self._wait_for_move(min(_BACKOFF_SECONDS, remaining))

    async def refresh(self, changed: Iterable[str]) -> None:
        """Read from the store what the controller has changed."""
        stale = list(changed)
        if not stale:
            return
        try:
            async with asyncio.timeout(_REFRESH_SECONDS):
                await self.store.run(self.cluster.refresh, stale)
        except TimeoutError:
            logger.info("A change by the controller is not visible here yet: the metadata store is busy")
        except StoreError as error:
            logger.info("A change by the controller is not visible here yet: %s", error)

    async def _send(self, envelope: RequestBuilder, seconds: float) -> Relayed:
        """Raises NotController if the controller did not answer and another attempt may succeed."""
        controller_id = self.cluster.image.controller_id
        if controller_id in (NO_CONTROLLER, self.settings.value.broker_id):
            raise NotController("No broker is the controller.")
        sent = self.client.send(controller_id, envelope, purpose=_PURPOSE, timeout=max(seconds, 0.001))
        try:
            await self._wait_for_move(None, sent)
            if not sent.done():
                raise NotController(
                    f"Broker {controller_id} did not answer and is not the controller any more."
                )
            response = sent.result()
        except KafkaError as error:
            raise NotController(error.message) from error
        finally:
            sent.cancel()
        error_code, data = parse_envelope(response.version, response.body)
        if error_code is ErrorCode.not_controller:
            raise NotController(f"Broker {controller_id} is not the controller.")
        if error_code is not ErrorCode.none:
            raise UnknownServerError(f"The controller refused a request with {error_code.name}")
        return Relayed(data)

    async def _wait_for_move(self, seconds: float | None, sent: "asyncio.Future[Any] | None" = None) -> None:
        """Wait until another broker is the controller, `sent` is done, or the time is over."""
        moved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.moves[moved] = None
        try:
            awaited = [moved] if sent is None else [moved, sent]
            await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self.moves[moved]
            moved.cancel()
