"""A follower with a log, and a leader whose responses the test writes. Time is virtual."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from tests.fakes.node import entity
from tests.fakes.virtual_time import elapse, run_virtually
from tests.strategies.entities import read, written
from tests.unit.replication.support import TOPIC_ID, Bench, batch

from barnabas.base.config.log_config import LogConfig
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.network.errors import BrokerDisconnected
from barnabas.network.outbound_channel import Response
from barnabas.replication.partition import Partition
from barnabas.replication.replica_fetcher import (
    _NAMING,
    _TRUNCATING,
    FetcherSettings,
    ReplicaFetcher,
    _Turn,
)
from barnabas.replication.throttling import ReplicationQuota
from barnabas.wire.message_codec import known_versions
from barnabas.wire.outgoing_request import RequestBuilder

LEADER, EPOCH, BACKOFF = 2, 5, 1.0
SETTINGS = FetcherSettings(1, 500, 1, 1000, 2000, BACKOFF, 30.0)
FETCH, LIST_OFFSETS = 1, 2
LATEST, EARLIEST = -1, -2
OTHER_ID = UUID(int=100)


class Following(Bench):
    """Broker 1 follows broker 2. One request at most is in flight: the test responds to it."""

    def __init__(self) -> None:
        super().__init__(leader=LEADER)
        self.elect(EPOCH)
        self.requests: list[Any] = []
        self.timeouts: list[float] = []
        self._in_flight: tuple[int, int, asyncio.Future[Response]] | None = None
        loop = asyncio.get_running_loop()
        self.quota: ReplicationQuota = ReplicationQuota(1, loop.time)
        self.fetcher: ReplicaFetcher = ReplicaFetcher(
            LEADER, SETTINGS, self._send, lambda: 77, loop, self.quota
        )

    def elect(self, epoch: int, leader: int = LEADER) -> None:
        self.follow(leader=leader, epoch=epoch, isr=(1, 2), replicas=(1, 2), version=epoch)

    def _send(self, request: RequestBuilder, timeout: float) -> Awaitable[Response]:
        assert self._in_flight is None
        version = min(request.newest, known_versions(request.api).highest)
        body = b"".join(request.build(version).parts)
        self.requests.append(read(load_request_schema(request.key, version), body))
        self.timeouts.append(timeout)
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._in_flight = request.key, version, future
        return future

    def other_partition(self) -> Partition:
        """Another topic, which broker 1 follows too."""
        image = PartitionImage(0, LEADER, EPOCH, (1, 2), (1, 2), (), (), EPOCH)
        self.partitions.follow_topic(TopicImage("other", OTHER_ID, {0: image}))
        return self.partitions.get("other", 0)

    async def start(self) -> None:
        self.fetcher.add(self.partition)
        await self.turns()

    async def turns(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)

    @property
    def is_fetching(self) -> bool:
        return self._in_flight is not None

    async def fail(self, error: Exception) -> None:
        assert self._in_flight is not None
        (_, _, future), self._in_flight = self._in_flight, None
        future.set_exception(error)
        await self.turns()

    async def respond(self, session: int = 0, **partition: Any) -> None:
        """To a fetch: with the fields of its one partition."""
        partition = {"partition_index": 0, "error_code": ErrorCode.none} | partition
        fields = {"responses": [{"topic_id": TOPIC_ID, "partitions": [partition]}]}
        await self.respond_all(FETCH, {"error_code": ErrorCode.none, "session_id": session} | fields)

    async def respond_without_news(self, session: int) -> None:
        fields = {"error_code": ErrorCode.none, "session_id": session, "responses": []}
        await self.respond_all(FETCH, fields)

    @property
    def session(self) -> tuple[int, int]:
        """Of the last request: its id and its epoch."""
        return self.requests[-1].session_id, self.requests[-1].session_epoch

    @property
    def is_named(self) -> bool:
        return bool(self.requests[-1].topics)

    async def list_offset(self, offset: int, error: ErrorCode = ErrorCode.none) -> None:
        partition = {"partition_index": 0, "error_code": error, "offset": offset}
        await self.respond_all(LIST_OFFSETS, {"topics": [{"name": "t", "partitions": [partition]}]})

    async def respond_all(self, key: int, fields: dict[str, Any]) -> None:
        assert self._in_flight is not None
        (requested, version, future), self._in_flight = self._in_flight, None
        assert requested == key
        body = written(entity(load_response_schema(key, version), fields))
        future.set_result(Response(version, memoryview(bytearray(body))))
        await self.turns()

    def has(self, count: int, *, base_offset: int = 0, epoch: int = 1) -> None:
        """The log has these records before the fetcher begins."""
        records = batch(count, base_offset=base_offset, leader_epoch=epoch)
        self.partition.append_fetched(memoryview(records), 0, 0)

    @property
    def range(self) -> tuple[int, int, int]:
        log = self.partition.log
        return log.log_start_offset, log.high_watermark, log.log_end_offset

    @property
    def wanted(self) -> Any:
        """The one partition of the last request."""
        ((partition,),) = (topic.partitions for topic in self.requests[-1].topics)
        return partition


def run(scenario: Callable[[Following], Awaitable[None]]) -> None:
    async def main() -> None:
        following = Following()
        await scenario(following)
        await following.fetcher.stop()

    run_virtually(main())


def test_request_names_the_replica_its_leader_epoch_and_the_epoch_of_its_last_record() -> None:
    async def scenario(following: Following) -> None:
        following.has(3, epoch=4)
        await following.start()
        (request,) = following.requests
        state = request.replica_state
        assert (state.replica_id, state.replica_epoch) == (1, 77)
        assert (request.min_bytes, request.max_bytes) == (1, 2000)
        assert (request.session_id, request.session_epoch) == (0, 0)
        assert [topic.topic_id for topic in request.topics] == [TOPIC_ID]
        wanted = following.wanted
        assert (wanted.fetch_offset, wanted.log_start_offset) == (3, 0)
        assert (wanted.current_leader_epoch, wanted.last_fetched_epoch) == (EPOCH, 4)
        assert wanted.partition_max_bytes == 1000
        assert following.timeouts == [30.5]

    run(scenario)


def test_records_high_watermark_and_log_start_are_those_of_the_leader() -> None:
    async def scenario(following: Following) -> None:
        following.has(2)
        await following.start()
        records = batch(3, base_offset=2, leader_epoch=EPOCH)
        await following.respond(records=records, high_watermark=4, log_start_offset=1)
        assert following.range == (1, 4, 5)
        assert (following.wanted.fetch_offset, following.wanted.last_fetched_epoch) == (5, EPOCH)
        await following.respond(high_watermark=9, log_start_offset=1)
        assert following.range == (1, 5, 5)

    run(scenario)


def test_response_for_another_role_or_another_log_end_is_dropped() -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        following.elect(EPOCH + 1)
        following.fetcher.add(following.partition)
        records = batch(3, leader_epoch=EPOCH)
        await following.respond(records=records, high_watermark=3)
        assert following.range == (0, 0, 0)
        assert following.wanted.current_leader_epoch == EPOCH + 1
        following.has(1, epoch=EPOCH)
        await following.respond(records=records, high_watermark=3)
        assert following.range == (0, 0, 1)
        assert following.wanted.fetch_offset == 1
        following.elect(EPOCH + 2, leader=3)
        await following.respond(records=batch(3, base_offset=1, leader_epoch=EPOCH + 1), high_watermark=3)
        assert following.range == (0, 0, 1)
        assert not following.is_fetching

    run(scenario)


@pytest.mark.parametrize(
    ("epoch", "end_offset", "expected"),
    [
        (1, 2, 2),
        (1, 5, 3),
        (2, 5, 3),  # The follower has no epoch 2: epoch 1 may be equal up to its end (KIP-279).
    ],
)
def test_diverging_epoch_truncates_and_nothing_else_is_applied(
    epoch: int, end_offset: int, expected: int
) -> None:
    async def scenario(following: Following) -> None:
        following.has(3, epoch=1)
        following.has(3, base_offset=3, epoch=3)
        await following.start()
        await following.respond(
            diverging_epoch={"epoch": epoch, "end_offset": end_offset},
            records=batch(1, base_offset=6, leader_epoch=3),
            high_watermark=2,
        )
        assert following.range == (0, 0, expected)
        assert (following.wanted.fetch_offset, following.wanted.last_fetched_epoch) == (expected, 1)

    run(scenario)


@pytest.mark.parametrize(
    ("leader_start", "leader_end", "expected"), [(0, 4, (0, 0, 4)), (10, 20, (10, 10, 10))]
)
def test_offset_out_of_range_continues_within_the_log_of_the_leader(
    leader_start: int, leader_end: int, expected: tuple[int, int, int]
) -> None:
    async def scenario(following: Following) -> None:
        for offset in range(6):
            following.has(1, base_offset=offset)
        await following.start()
        await following.respond(error_code=ErrorCode.offset_out_of_range)
        await following.list_offset(leader_end)
        await following.list_offset(leader_start)
        assert following.range == expected
        assert following.wanted.fetch_offset == expected[2]
        listed = [request.topics[0].partitions[0] for request in following.requests[1:3]]
        assert [(each.timestamp, each.current_leader_epoch) for each in listed] == [
            (LATEST, EPOCH),
            (EARLIEST, EPOCH),
        ]
        assert {request.replica_id for request in following.requests[1:3]} == {1}

    run(scenario)


def test_offset_out_of_range_is_retried_after_the_backoff_if_the_leaders_range_does_not_help() -> None:
    async def scenario(following: Following) -> None:
        following.has(6)
        await following.start()
        for error, end in ((ErrorCode.none, 6), (ErrorCode.not_leader_or_follower, 0)):
            await following.respond(error_code=ErrorCode.offset_out_of_range)
            await following.list_offset(end, error)
            await following.list_offset(0)
            assert following.range == (0, 0, 6)
            assert not following.is_fetching
            await elapse(BACKOFF + 0.1)
            assert following.is_fetching
        await following.respond(error_code=ErrorCode.offset_out_of_range)
        following.elect(EPOCH + 1)  # While the offsets are listed.
        await following.list_offset(4)
        await following.list_offset(0)
        assert following.range == (0, 0, 6)

    run(scenario)


def test_fenced_follower_waits_for_its_next_role() -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        await following.respond(error_code=ErrorCode.fenced_leader_epoch)
        await elapse(100 * BACKOFF)
        assert len(following.requests) == 1
        following.fetcher.add(following.partition)
        await following.turns()
        assert len(following.requests) == 1
        following.elect(EPOCH + 1)
        following.fetcher.add(following.partition)
        await following.turns()
        assert following.wanted.current_leader_epoch == EPOCH + 1

    run(scenario)


async def _refused(following: Following) -> None:
    await following.respond(error_code=ErrorCode.unknown_leader_epoch)


async def _unreadable(following: Following) -> None:
    await following.respond(records=b"no batch" * 20, high_watermark=1)


async def _left_out(following: Following) -> None:
    await following.respond(partition_index=1)


async def _disconnected(following: Following) -> None:
    await following.fail(BrokerDisconnected("the leader has stopped"))


async def _unexpected(following: Following) -> None:
    await following.fail(ValueError("a bug"))


async def _refused_as_a_whole(following: Following) -> None:
    await following.respond_all(FETCH, {"error_code": ErrorCode.unknown_server_error})


@pytest.mark.parametrize(
    "failure", [_refused, _unreadable, _left_out, _disconnected, _unexpected, _refused_as_a_whole]
)
def test_failure_is_retried_after_the_backoff(failure: Callable[[Following], Awaitable[None]]) -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        for attempt in (1, 2):
            await failure(following)
            await elapse(0.9 * BACKOFF)
            assert len(following.requests) == attempt
            await elapse(0.2 * BACKOFF)
            assert len(following.requests) == attempt + 1
        assert following.range == (0, 0, 0)
        await following.respond(records=batch(1, leader_epoch=EPOCH), high_watermark=1)
        assert following.range == (0, 1, 1)

    run(scenario)


def test_session_names_a_partition_again_only_if_it_has_changed() -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        await following.respond(session=9, high_watermark=0, log_start_offset=0)
        assert (following.session, following.is_named) == ((9, 1), False)
        await following.respond_without_news(9)
        assert (following.session, following.is_named) == ((9, 2), False)
        await following.respond(session=9, records=batch(3, leader_epoch=EPOCH), high_watermark=2)
        assert (following.session, following.wanted.fetch_offset) == ((9, 3), 3)
        await following.respond(session=9, high_watermark=3)
        assert (following.session, following.is_named, following.range) == ((9, 4), False, (0, 3, 3))
        following.elect(EPOCH + 1)
        following.fetcher.add(following.partition)
        await following.respond_without_news(9)
        assert (following.session, following.wanted.current_leader_epoch) == ((9, 5), EPOCH + 1)

    run(scenario)


def test_response_in_a_session_for_another_role_is_dropped() -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        await following.respond(session=9, high_watermark=0)
        following.elect(EPOCH + 1)
        following.fetcher.add(following.partition)
        await following.respond(session=9, records=batch(3, leader_epoch=EPOCH), high_watermark=3)
        assert following.range == (0, 0, 0)
        assert following.wanted.current_leader_epoch == EPOCH + 1

    run(scenario)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.fetch_session_id_not_found,
        ErrorCode.invalid_fetch_session_epoch,
        ErrorCode.fetch_session_topic_id_error,
    ],
)
def test_refused_session_is_begun_anew_at_once(error: ErrorCode) -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        await following.respond(session=9, high_watermark=0)
        await following.respond_all(FETCH, {"error_code": error, "responses": []})
        assert (following.session, following.wanted.fetch_offset) == ((9, 0), 0)
        await following.respond(session=10, high_watermark=0)
        assert (following.session, following.is_named) == ((10, 1), False)

    run(scenario)


def test_lost_response_begins_a_new_session() -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        await following.respond(session=9, high_watermark=0)
        await following.fail(BrokerDisconnected("the leader has stopped"))
        await elapse(BACKOFF + 0.1)
        assert (following.session, following.is_named) == ((9, 0), True)

    run(scenario)


def test_partition_in_backoff_is_forgotten_and_named_again() -> None:
    async def scenario(following: Following) -> None:
        following.fetcher.add(following.other_partition())
        await following.start()
        empty = {"partitions": [{"partition_index": 0, "error_code": ErrorCode.none, "high_watermark": 0}]}
        both = [{"topic_id": each} | empty for each in (TOPIC_ID, OTHER_ID)]
        await following.respond_all(FETCH, {"error_code": ErrorCode.none, "session_id": 9, "responses": both})
        await following.respond(session=9, error_code=ErrorCode.unknown_leader_epoch)
        (forgotten,) = following.requests[-1].forgotten_topics_data
        assert (forgotten.topic_id, forgotten.partitions) == (TOPIC_ID, (0,))
        assert (following.session, following.is_named) == ((9, 2), False)
        await elapse(BACKOFF + 0.1)
        await following.respond_without_news(9)
        assert (following.session, following.wanted.partition) == ((9, 3), 0)
        assert following.requests[-1].forgotten_topics_data == ()

    run(scenario)


def test_removed_partition_is_not_fetched_and_a_new_role_ends_the_backoff() -> None:
    async def scenario(following: Following) -> None:
        await following.start()
        await following.respond(error_code=ErrorCode.unknown_leader_epoch)
        following.fetcher.add(following.partition)
        await following.turns()
        assert len(following.requests) == 2
        following.fetcher.remove(following.key)
        await following.respond(high_watermark=0)
        assert (len(following.fetcher), following.is_fetching) == (0, False)
        await following.start()
        assert len(following.requests) == 3

    run(scenario)


def test_requests_are_handled_between_the_partitions_of_a_failover() -> None:
    """Logs are opened and truncated a few in a turn of the event loop."""

    async def scenario(following: Following) -> None:
        turn = _Turn()
        passed = 0

        async def others() -> None:
            nonlocal passed
            while True:
                await asyncio.sleep(0)
                passed += 1

        task = asyncio.ensure_future(others())
        for _ in range(10):
            await turn.spend(_TRUNCATING)
        assert passed >= 9
        passed = 0
        for _ in range(10):
            await turn.spend(_NAMING)
        assert passed == 0
        task.cancel()

    run(scenario)


def _throttled(following: Following, replicas: str, limit: int) -> None:
    following.partition.log.config = LogConfig(follower_replication_throttled_replicas=(replicas,))
    following.quota.limit = limit


@pytest.mark.parametrize("replicas", ["0:1", "*"])
def test_throttled_replica_waits_until_its_rate_is_below_the_limit(replicas: str) -> None:
    async def scenario(following: Following) -> None:
        records = batch(1, leader_epoch=EPOCH)
        _throttled(following, replicas, len(records) // 2)
        await following.start()
        await following.respond(high_watermark=10, records=records)
        assert not following.is_fetching  # The rate is twice the limit in the first second.
        await elapse(BACKOFF * 4)
        assert following.is_fetching

    run(scenario)


@pytest.mark.parametrize(("replicas", "high_watermark"), [("0:2", 10), ("1:1", 10), ("*", 1)])
def test_replica_that_is_not_listed_or_is_caught_up_is_not_throttled(
    replicas: str, high_watermark: int
) -> None:
    async def scenario(following: Following) -> None:
        records = batch(1, leader_epoch=EPOCH)
        _throttled(following, replicas, len(records) // 2)
        await following.start()
        await following.respond(high_watermark=high_watermark, records=records)
        assert following.is_fetching

    run(scenario)
