"""A client process of a simulation: connections to brokers, the cluster's metadata, requests with a timeout.

The simplest client that speaks the real protocol: one request at a time on a connection, metadata read again
whenever a broker says that it is not the right one.
"""

import asyncio
import random
import struct
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from tests.integration.clients.raw import decode, encode, frame
from tests.simulation.network import Address, Network
from tests.simulation.node_loop import NodeLoop
from tests.simulation.scheduler import Scheduler
from tests.simulation.transports import Host

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition

_LENGTH = struct.Struct(">i")
REQUEST_SECONDS = 2.0
_BACKOFF_SECONDS = 0.2
_METADATA, _FIND_COORDINATOR = 12, 4

RETRIABLE = frozenset(
    {
        ErrorCode.not_leader_or_follower,
        ErrorCode.leader_not_available,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.replica_not_available,
        ErrorCode.offset_not_available,
        ErrorCode.not_enough_replicas,
        ErrorCode.not_enough_replicas_after_append,
        ErrorCode.request_timed_out,
        ErrorCode.kafka_storage_error,
        ErrorCode.not_coordinator,
        ErrorCode.coordinator_not_available,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.concurrent_transactions,
        ErrorCode.not_controller,
        ErrorCode.unknown_server_error,
    }
)


class Unavailable(Exception):
    """No answer: the broker cannot be reached, the connection was lost, or the request timed out."""


class Link(asyncio.Protocol):
    """One connection. The answer of the request that waits, as bytes."""

    def __init__(self) -> None:
        self._received: bytearray = bytearray()
        self._waiting: asyncio.Future[bytes] | None = None
        self.transport: asyncio.Transport | None = None
        self.is_lost: bool = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Unavailable(f"the connection was lost: {exc}"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) >= 4:
            end = 4 + _LENGTH.unpack_from(self._received)[0]
            if len(self._received) >= end and self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(bytes(self._received[4:end]))
                del self._received[:end]

    async def send(self, payload: bytes) -> bytes:
        if self.is_lost or self.transport is None:
            raise Unavailable("the connection was lost")
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(frame(payload))
        return await self._waiting

    def close(self) -> None:
        self.is_lost = True
        if self.transport is not None:
            self.transport.abort()


class ClusterClient:
    def __init__(
        self, name: str, scheduler: Scheduler, network: Network, bootstrap: Sequence[Address]
    ) -> None:
        self.name: str = name
        self.loop: NodeLoop = NodeLoop.on(scheduler, name)
        self.rng: random.Random = scheduler.stream(f"client {name}")
        self._host: Host = Host(network, self.loop)
        self._bootstrap: list[Address] = list(bootstrap)
        self._links: dict[Address, Link] = {}
        self._leaders: dict[TopicPartition, Address] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}
        self._last_id: int = 0

    def now(self) -> float:
        return self.loop.time()

    async def back_off(self) -> None:
        await asyncio.sleep(self.rng.random() * _BACKOFF_SECONDS)

    # --- requests ---------------------------------------------------------------------------------------

    async def call(self, address: Address, api: str, version: int, **fields: object) -> Any:
        """Raises Unavailable. A request that timed out ends its connection, as its answer may come yet."""
        self._last_id += 1
        payload = encode(api, version, self._last_id, **fields)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                link = await self._link(address)
                return decode(api, version, await link.send(payload))
        except (TimeoutError, OSError, Unavailable) as error:
            broken = self._links.pop(address, None)
            if broken is not None:
                broken.close()
            raise Unavailable(f"{api} to {address[0]}: {error!r}") from error

    async def _link(self, address: Address) -> Link:
        link = self._links.get(address)
        if link is None or link.is_lost:
            _, made = await self.loop.create_connection(Link, *address)
            link = self._links[address] = made
        return link

    async def any_broker(self, api: str, version: int, **fields: object) -> Any:
        return await self.call(self.rng.choice(self._bootstrap), api, version, **fields)

    # --- who is responsible -----------------------------------------------------------------------------

    async def leader_of(self, partition: TopicPartition) -> Address:
        """Raises Unavailable if it is not known."""
        if partition not in self._leaders:
            await self._read_metadata(partition.topic)
        if partition not in self._leaders:
            raise Unavailable(f"{partition} has no leader")
        return self._leaders[partition]

    def forget_leader(self, partition: TopicPartition) -> None:
        self._leaders.pop(partition, None)

    async def _read_metadata(self, topic: str) -> None:
        answer = await self.any_broker(
            "metadata",
            _METADATA,
            topics=[{"topic_id": None, "name": topic}],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
        for found in answer.topics:
            for each in found.partitions:
                if each.leader_id in brokers:
                    name = TopicPartition(topic, each.partition_index)
                    self._leaders[name] = brokers[each.leader_id]

    async def coordinator_of(self, key_type: int, key: str) -> Address:
        known = self._coordinators.get((key_type, key))
        if known is not None:
            return known
        answer = await self.any_broker(
            "find_coordinator", _FIND_COORDINATOR, key_type=key_type, coordinator_keys=[key]
        )
        (found,) = answer.coordinators
        if found.error_code:
            raise Unavailable(f"no coordinator of {key}: {ErrorCode(found.error_code).name}")
        address = self._coordinators[key_type, key] = (found.host, found.port)
        return address

    def forget_coordinator(self, key_type: int, key: str) -> None:
        self._coordinators.pop((key_type, key), None)

    async def of_coordinator(
        self, key_type: int, key: str, send: Callable[[Address], Awaitable[Any]], seconds: float
    ) -> tuple[Any, bool]:
        """Ask a coordinator until it gives an answer that is not retriable.

        Returns the answer, and whether an earlier attempt may have been carried out. Raises Unavailable.
        """
        deadline = self.now() + seconds
        is_repeated = False
        while True:
            with suppress(Unavailable):
                address = await self.coordinator_of(key_type, key)
                is_under_way, is_repeated = is_repeated, True
                answer = await send(address)
                is_repeated = is_under_way
                if ErrorCode(answer.error_code) not in RETRIABLE:
                    return answer, is_repeated
            self.forget_coordinator(key_type, key)
            if self.now() > deadline:
                raise Unavailable(f"the coordinator of {key} does not respond")
            await self.back_off()

    # --- topics -----------------------------------------------------------------------------------------

    async def create_topic(
        self, name: str, partitions: int, factor: int, configs: dict[str, str], replicas: Sequence[int] = ()
    ) -> None:
        """Returns when the topic exists; tries until it does. `replicas` of each partition, if given."""
        assignments = [
            {"partition_index": number, "broker_ids": list(replicas)}
            for number in range(partitions if replicas else 0)
        ]
        topic = {
            "name": name,
            "num_partitions": -1 if replicas else partitions,
            "replication_factor": -1 if replicas else factor,
            "assignments": assignments,
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        while True:
            with suppress(Unavailable):
                answer = await self.any_broker(
                    "create_topics", 7, topics=[topic], timeout=5000, validate_only=False
                )
                if ErrorCode(answer.topics[0].error_code) in (
                    ErrorCode.none,
                    ErrorCode.topic_already_exists,
                ):
                    return
            await self.back_off()
