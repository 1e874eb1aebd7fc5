"""Requests from this broker to others: by broker id, over channels that are opened on demand.

A broker and a purpose have a channel of their own, because responses come in order: a fetch that waits for
records would hold up every other request. An endpoint that changes replaces the channel.
"""

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from typing import NamedTuple

from barnabas.network.errors import BrokerDisconnected
from barnabas.network.outbound_channel import OutboundChannel, Response
from barnabas.network.transport import Endpoint
from barnabas.wire.outgoing_request import RequestBuilder

EndpointLookup = Callable[[int], Endpoint | None]
"""The listener of a broker that other brokers use; None if the broker is not registered."""
OpenChannel = Callable[[int, str, Endpoint], OutboundChannel]
"""Opens a channel for a broker id and a purpose."""


class ChannelKey(NamedTuple):
    broker_id: int
    purpose: str


class BrokerClient:
    def __init__(
        self, endpoint_of: EndpointLookup, open_channel: OpenChannel, loop: AbstractEventLoop
    ) -> None:
        self._endpoint_of: EndpointLookup = endpoint_of
        self._open_channel: OpenChannel = open_channel
        self._loop: AbstractEventLoop = loop
        self._channels: dict[ChannelKey, OutboundChannel] = {}
        self._is_closed: bool = False

    def __len__(self) -> int:
        return len(self._channels)

    def send(
        self, broker_id: int, request: RequestBuilder, *, purpose: str = "", timeout: float | None = None
    ) -> "Future[Response]":
        """Fails with BrokerDisconnected, also if the broker is not registered, or UnsupportedVersion."""
        channel = self._channel(ChannelKey(broker_id, purpose))
        if channel is not None:
            return channel.send(request, timeout)
        future: Future[Response] = self._loop.create_future()
        reason = "this broker is stopping" if self._is_closed else "it is not registered"
        future.set_exception(
            BrokerDisconnected(f"Cannot send {request.api.upper()} to broker {broker_id}: {reason}")
        )
        return future

    def disconnect(self, broker_id: int, purpose: str | None = None) -> None:
        """Close the channels to a broker: those of one purpose, or all. Their requests fail."""
        for key in [each for each in self._channels if each.broker_id == broker_id]:
            if purpose is None or key.purpose == purpose:
                self._channels.pop(key).close()

    def close(self) -> None:
        """Close all channels. Every later request fails."""
        self._is_closed = True
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.close()

    def _channel(self, key: ChannelKey) -> OutboundChannel | None:
        endpoint = None if self._is_closed else self._endpoint_of(key.broker_id)
        channel = self._channels.get(key)
        if channel is not None and channel.endpoint != endpoint:
            channel.close()
            del self._channels[key]
            channel = None
        if channel is None and endpoint is not None:
            channel = self._channels[key] = self._open_channel(key.broker_id, key.purpose, endpoint)
        return channel
