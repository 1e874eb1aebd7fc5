"""The replication of this broker: connections to other brokers, replica fetchers, ISR changes.

`Partitions` calls what is here when a role changes and when an in-sync set is to change. Nothing is started
by building it.
"""

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from functools import partial

from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.errors import KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.broker.controller_channel import ControllerChannel
from barnabas.broker.environment import Environment
from barnabas.broker.remote_peers import RemotePeers
from barnabas.controller.controller import Controller
from barnabas.handlers.context import StoreThread
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.membership import Membership
from barnabas.network.broker_client import BrokerClient
from barnabas.network.outbound_channel import ChannelSettings, OutboundChannel, Response
from barnabas.network.transport import Connect, Endpoint
from barnabas.replication.isr_proposals import IsrProposals
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.replication.replica_fetcher import FetcherSettings, ReplicaFetcher
from barnabas.replication.replica_fetchers import FetcherKey, ReplicaFetchers
from barnabas.replication.replica_moves import ReplicaMoves
from barnabas.replication.throttling import ReplicationQuotas
from barnabas.storage.logs import Logs
from barnabas.wire.outgoing_request import RequestBuilder

logger = logging.getLogger("broker")

_HAND_OVER_SECONDS = 5.0
_RETRY_SECONDS = 0.2
_PAUSE_SECONDS = 0.01


class Replication:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        settings: CurrentConfig,
        environment: Environment,
        cluster: ClusterMetadata,
        membership: Membership,
        controller: Controller,
        thread: StoreThread,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.controller: Controller = controller
        self.membership: Membership = membership
        self._settings: CurrentConfig = settings
        self._environment: Environment = environment
        self._cluster: ClusterMetadata = cluster
        self._loop: asyncio.AbstractEventLoop = loop
        self._connect: Connect = environment.make_connect(self._loop)
        self.client: BrokerClient = BrokerClient(self._endpoint_of, self._open_channel, self._loop)
        self.peers: RemotePeers = RemotePeers(self.client, self._loop)
        self._channel: ControllerChannel = ControllerChannel(controller, membership, thread, self.client)
        self.proposals: IsrProposals = IsrProposals(self._channel.alter_partitions)
        count = settings.value.get("num.replica.fetchers")
        assert isinstance(count, int)
        self.fetchers: ReplicaFetchers = ReplicaFetchers(count, self._find, self._make_fetcher)
        self.quotas: ReplicationQuotas = ReplicationQuotas(settings.value, environment.clock.monotonic)
        settings.subscribe(self.quotas.configure)
        self.moves: ReplicaMoves | None = None
        self.partitions: Partitions | None = None
        """Set by the builder, which hands the methods of this object to the partitions."""

    def is_eligible(self, broker_id: int, epoch: int) -> bool:
        """Whether a broker may join an in-sync set: it is active with this epoch and does not shut down."""
        known = self._cluster.image.registrations.get(broker_id)
        if known is None or not known.is_active or known.broker.is_shutting_down:
            return False
        return known.broker.epoch == epoch

    def epoch_of(self, broker_id: int) -> int:
        """The epoch of the session of a broker; -1 if it has none."""
        known = self._cluster.image.registrations.get(broker_id)
        return known.broker.epoch if known is not None and known.is_alive else -1

    async def hand_over(self) -> None:
        """Controlled shutdown: other replicas take the leaderships of this broker before it stops.

        Without another active broker no replica can take them. If the controller does not decide in time
        the broker stops all the same: its session ends, and the controller elects then.
        """
        brokers = self._cluster.image.brokers
        if not self._settings.value.get("controlled.shutdown.enable") or len(brokers) < 2:
            return
        if self.membership.broker_id not in brokers:
            return
        try:
            async with asyncio.timeout(_HAND_OVER_SECONDS):
                await self._begin_shutdown()
                while any(self._led_with_followers()):  # noqa: ASYNC110  roles change in many ways
                    await asyncio.sleep(_PAUSE_SECONDS)
        except TimeoutError:
            left = sum(1 for _ in self._led_with_followers())
            logger.warning("Controlled shutdown took too long: %d partitions are still led here", left)

    async def _begin_shutdown(self) -> None:
        while True:
            try:
                await self._channel.begin_shutdown()
                return
            except (KafkaError, OSError) as error:
                logger.info("The controller has not taken over yet; retrying: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)

    def _led_with_followers(self) -> Iterator[Partition]:
        """Without the partitions that no other replica in sync can lead."""
        image = self._cluster.image
        for partition in self.partitions or ():
            found = image.partition(*partition.topic_partition)
            if partition.is_leader and found is not None and found.leader != self.membership.broker_id:
                yield partition

    def make_moves(self, logs: Logs, executor: Executor) -> ReplicaMoves:
        """What moves replicas between the log directories of this broker."""

        def bytes_per_second() -> int:
            rate = self._settings.value.get("replica.alter.log.dirs.io.max.bytes.per.second")
            assert isinstance(rate, int)
            return rate

        self.moves = ReplicaMoves(logs, self._find, executor, self._loop, bytes_per_second)
        return self.moves

    async def stop(self) -> None:
        if self.moves is not None:
            await self.moves.stop()
        await self.fetchers.stop()
        await self.proposals.stop()
        self.client.close()

    # --- connections ----------------------------------------------------------------------------------

    def _endpoint_of(self, broker_id: int) -> Endpoint | None:
        known = self._cluster.image.registrations.get(broker_id)
        if known is None or not known.is_alive:
            return None
        address = known.broker.endpoints.get(self._settings.value.inter_broker_listener_name)
        return None if address is None else Endpoint(*address)

    def _open_channel(self, broker_id: int, purpose: str, endpoint: Endpoint) -> OutboundChannel:
        client_id = f"broker-{self.membership.broker_id}-{purpose}"
        settings = ChannelSettings(client_id)
        return OutboundChannel(endpoint, settings, self._connect, self._loop, self._environment.rng)

    # --- fetchers -------------------------------------------------------------------------------------

    def _find(self, name: TopicPartition) -> Partition | None:
        hosted = None if self.partitions is None else self.partitions.topic(name.topic)
        return None if hosted is None else hosted.partitions.get(name.partition)

    def _make_fetcher(self, key: FetcherKey) -> ReplicaFetcher:
        config = self._settings.value
        settings = FetcherSettings(
            config.broker_id,
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            config.replica_fetch_max_bytes,
            config.replica_fetch_response_max_bytes,
            config.replica_fetch_backoff_ms / 1000,
            config.replica_socket_timeout_ms / 1000,
        )
        send = partial(self._send, key)
        return ReplicaFetcher(
            key.leader_id, settings, send, self._broker_epoch, self._loop, self.quotas.follower
        )

    def _send(self, key: FetcherKey, request: RequestBuilder, timeout: float) -> "asyncio.Future[Response]":
        purpose = f"fetcher-{key.slot}"
        return self.client.send(key.leader_id, request, purpose=purpose, timeout=timeout)

    def _broker_epoch(self) -> int:
        return self.membership.epoch
