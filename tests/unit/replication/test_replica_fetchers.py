import asyncio
import time
from collections.abc import Awaitable
from uuid import UUID

from tests.unit.replication.support import Bench, run

from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import NO_LEADER, PartitionImage, TopicImage
from barnabas.network.outbound_channel import Response
from barnabas.replication.partition import Partition
from barnabas.replication.replica_fetcher import FetcherSettings, ReplicaFetcher
from barnabas.replication.replica_fetchers import FetcherKey, ReplicaFetchers
from barnabas.replication.throttling import ReplicationQuota
from barnabas.wire.outgoing_request import RequestBuilder

QUOTA = ReplicationQuota(1, time.monotonic)
SETTINGS = FetcherSettings(1, 500, 1, 1000, 2000, 1.0, 30.0)


class Fetching(Bench):
    """Leaders never respond: only who is fetched from matters."""

    def __init__(self, count: int = 1) -> None:
        super().__init__(leader=2)
        self.made: dict[FetcherKey, ReplicaFetcher] = {}
        self.in_flight: list[asyncio.Future[Response]] = []
        self.fetchers: ReplicaFetchers = ReplicaFetchers(count, self._find, self._make)

    def _find(self, name: TopicPartition) -> Partition | None:
        hosted = self.partitions.topic(name.topic)
        return None if hosted is None else hosted.partitions.get(name.partition)

    def _make(self, key: FetcherKey) -> ReplicaFetcher:
        assert key not in self.made
        loop = asyncio.get_running_loop()
        found = self.made[key] = ReplicaFetcher(key.leader_id, SETTINGS, self._send, lambda: 1, loop, QUOTA)
        return found

    def _send(self, request: RequestBuilder, timeout: float) -> Awaitable[Response]:
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.in_flight.append(future)
        return future

    def elect(self, leader: int, epoch: int) -> None:
        self.follow(leader=leader, epoch=epoch, isr=(1, 2, 3), replicas=(1, 2, 3), version=epoch)
        self.fetchers.on_role(self.key)

    @property
    def counts(self) -> dict[int, int]:
        """Partitions by leader."""
        return {key.leader_id: len(fetcher) for key, fetcher in self.made.items()}


def test_partition_moves_to_the_fetcher_of_its_new_leader() -> None:
    async def scenario() -> None:
        fetching = Fetching()
        fetching.elect(leader=2, epoch=1)
        fetching.elect(leader=2, epoch=2)
        assert fetching.counts == {2: 1}
        fetching.elect(leader=3, epoch=3)
        assert fetching.counts == {2: 0, 3: 1}
        fetching.elect(leader=2, epoch=4)
        assert fetching.counts == {2: 1, 3: 0}
        await fetching.fetchers.stop()

    run(scenario)


def test_partition_that_is_led_here_or_by_no_broker_or_deleted_is_not_fetched() -> None:
    async def scenario() -> None:
        fetching = Fetching()
        for epoch, leader in ((1, 1), (3, NO_LEADER)):
            fetching.elect(leader=2, epoch=epoch)
            fetching.elect(leader=leader, epoch=epoch + 1)
            assert fetching.counts == {2: 0}
        fetching.elect(leader=2, epoch=5)
        assert fetching.counts == {2: 1}
        name = fetching.key
        fetching.delete_topic()
        fetching.fetchers.on_role(name)
        assert fetching.counts == {2: 0}
        await fetching.fetchers.stop()

    run(scenario)


def test_partitions_of_a_leader_are_spread_over_its_fetchers_and_stay_there() -> None:
    async def scenario() -> None:
        fetching, count = Fetching(3), 30
        states = {number: PartitionImage(number, 2, 0, (2,), (1, 2), (), (), 0) for number in range(count)}
        fetching.partitions.follow_topic(TopicImage("many", UUID(int=5), states))
        for _ in range(2):
            for number in range(count):
                fetching.fetchers.on_role(TopicPartition("many", number))
            assert set(fetching.made) == {FetcherKey(2, slot) for slot in range(3)}
            assert sum(map(len, fetching.made.values())) == count
            assert all(map(len, fetching.made.values()))
        await fetching.fetchers.stop()

    run(scenario)


def test_stop_ends_requests_and_later_roles_start_nothing() -> None:
    async def scenario() -> None:
        fetching = Fetching()
        fetching.elect(leader=2, epoch=1)
        await asyncio.sleep(0)
        (request,) = fetching.in_flight
        await fetching.fetchers.stop()
        assert request.cancelled()
        fetching.elect(leader=2, epoch=2)
        fetching.elect(leader=3, epoch=3)
        await asyncio.sleep(0)
        assert (fetching.counts, len(fetching.in_flight)) == ({2: 0}, 1)

    run(scenario)
