"""Fetches from one leader what this broker follows (Kafka's ReplicaFetcherThread), in one task.

A partition is fetched from its log end on, with the epoch of its last record, in an incremental session
(KIP-227): a request names the partitions that changed since the last one, a response those that have
something new, so an idle partition costs nothing. A response is applied only if the role and the log end are
still those of the request (KAFKA-7786, 13207). A diverging epoch in it truncates the log, and nothing else is
taken from that response (KAFKA-14704). A partition that fails is fetched again after a backoff; one that the
leader fences waits for its next role.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from barnabas.base.errors import ErrorCode, KafkaError, StorageError
from barnabas.base.ids import TopicPartition
from barnabas.network.outbound_channel import Response
from barnabas.replication.follower_session import FollowerSession, SessionPartition
from barnabas.replication.partition import Partition
from barnabas.replication.roles import Follower
from barnabas.replication.throttling import ReplicationQuota
from barnabas.storage.log import Log
from barnabas.wire.client_fetch import FetchedPartition, FetchResponse, parse_fetch_response
from barnabas.wire.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from barnabas.wire.outgoing_request import RequestBuilder
from barnabas.wire.replica_requests import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListedOffset,
    OffsetQuery,
    parse_replica_offsets,
    replica_fetch_request,
    replica_offsets_request,
)
from barnabas.wire.response_reader import MALFORMED

logger = logging.getLogger("replication")

_SESSION_REFUSED = (
    ErrorCode.fetch_session_id_not_found,
    ErrorCode.invalid_fetch_session_epoch,
    ErrorCode.fetch_session_topic_id_error,
)

# What a partition costs of a turn of the event loop, in units of about 30 microseconds.
_UNITS_PER_TURN = 100
_NAMING = 1
_OPENING = 20
_TRUNCATING = 100
_BYTES_PER_UNIT = 32 * 1024

Send = Callable[[RequestBuilder, float], Awaitable[Response]]
"""Sends a request to the leader, with a timeout in seconds. Fails with KafkaError or OSError."""


@dataclass(frozen=True, slots=True)
class FetcherSettings:
    replica_id: int
    wait_max_ms: int
    min_bytes: int
    max_bytes: int
    """Of a partition."""
    response_max_bytes: int
    backoff_seconds: float
    timeout_seconds: float


class _Sent(NamedTuple):
    """A partition that is fetched, as it was when a request named it last."""

    partition: Partition
    role: Follower
    offset: int

    @property
    def key(self) -> SessionPartition:
        return SessionPartition(self.partition.topic_id, self.partition.topic_partition.partition)


class _Turn:
    """Lets requests be handled between partitions: a failover concerns thousands of them at once.

    Counts work instead of measuring time, so that a simulation repeats itself.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: int = _UNITS_PER_TURN

    async def spend(self, units: int) -> None:
        self._left -= units
        if self._left <= 0:
            self._left = _UNITS_PER_TURN
            await asyncio.sleep(0)


class ReplicaFetcher:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        leader_id: int,
        settings: FetcherSettings,
        send: Send,
        broker_epoch: Callable[[], int],
        loop: asyncio.AbstractEventLoop,
        quota: ReplicationQuota,
    ) -> None:
        self.leader_id: int = leader_id
        self._settings: FetcherSettings = settings
        self._send: Send = send
        self._broker_epoch: Callable[[], int] = broker_epoch
        self._loop: asyncio.AbstractEventLoop = loop
        self._quota: ReplicationQuota = quota
        self._interrupted: set[TopicPartition] = set()
        """Partitions whose log cannot be opened."""
        self._caught_up: set[TopicPartition] = set()
        """Partitions that had everything below the high watermark in the last response: never throttled."""
        self._partitions: dict[TopicPartition, Partition] = {}
        self._not_before: dict[TopicPartition, float] = {}
        self._fenced: dict[TopicPartition, Follower] = {}
        """Roles in which the leader refuses this broker: the metadata known here is old."""
        self._session: FollowerSession = FollowerSession()
        self._sent: dict[SessionPartition, _Sent] = {}
        """The partitions of the session."""
        self._keys: dict[TopicPartition, SessionPartition] = {}
        self._changed: dict[TopicPartition, None] = {}
        """Partitions that may have to be named in the next request."""
        self._turn: _Turn = _Turn()
        self._woken: asyncio.Event = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._partitions)

    def add(self, partition: Partition) -> None:
        """Follow the partition from now on, in its current role."""
        name = partition.topic_partition
        self._partitions[name] = partition
        self._not_before.pop(name, None)
        self._changed[name] = None
        self._woken.set()
        if self._task is None:
            self._task = self._loop.create_task(self._run())

    def remove(self, name: TopicPartition) -> None:
        self._partitions.pop(name, None)
        self._not_before.pop(name, None)
        self._fenced.pop(name, None)
        self._caught_up.discard(name)
        self._changed[name] = None
        self._woken.set()

    async def stop(self) -> None:
        self._partitions.clear()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while self._partitions:
            self._woken.clear()
            request = await self._next_request()
            if request is None:
                await self._wait()
                continue
            try:
                await self._fetch(request)
            except (KafkaError, OSError) as error:
                logger.debug("Fetch from leader %d failed: %s", self.leader_id, error)
                self._start_over()
            except Exception:
                logger.exception("Unexpected error while fetching from leader %d; retrying", self.leader_id)
                self._start_over()
        self._task = None

    def _start_over(self) -> None:
        """The leader may not know what was requested: begin a new session after the backoff."""
        self._delay(list(self._keys))
        self._session.reset()

    async def _wait(self) -> None:
        """Until a partition is added or removed, or the first backoff is over."""
        timeout = min(self._not_before.values()) - self._loop.time() if self._not_before else None
        try:
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        except TimeoutError:
            pass

    def _delay(self, names: Iterable[TopicPartition], seconds: float | None = None) -> None:
        again = self._loop.time() + (self._settings.backoff_seconds if seconds is None else seconds)
        for name in names:
            self._not_before[name] = again
            self._changed[name] = None

    # --- the request ----------------------------------------------------------------------------------

    async def _next_request(self) -> FetchRequest | None:
        """Returns None if no partition is to be fetched now."""
        self._end_backoffs()
        if self._session.is_new:
            self._sent.clear()
            self._keys.clear()
            self._changed = dict.fromkeys(self._partitions)
        changed, self._changed = self._changed, {}
        wanted: dict[SessionPartition, FetchPartition | None] = {}
        for name in changed:
            partition = self._partitions.get(name)
            is_open = partition is None or partition.is_log_open
            self._update(name, wanted)
            await self._turn.spend(_NAMING if is_open else _OPENING)
        if not self._sent:
            self._session.reset()
            return None
        settings, requested = self._settings, self._session.request(wanted)
        return FetchRequest(
            settings.replica_id,
            settings.wait_max_ms,
            settings.min_bytes,
            settings.response_max_bytes,
            0,
            requested.session_id,
            requested.session_epoch,
            _topics(requested.changed),
            _forgotten(requested.forgotten),
            "",
            self._broker_epoch(),
        )

    def _end_backoffs(self) -> None:
        now = self._loop.time()
        for name in [name for name, at in self._not_before.items() if at <= now]:
            del self._not_before[name]
            self._changed[name] = None

    def _update(self, name: TopicPartition, wanted: dict[SessionPartition, FetchPartition | None]) -> None:
        """Note in `wanted` how a partition is fetched from now on."""
        before = self._keys.pop(name, None)
        if before is not None:
            del self._sent[before]
            wanted[before] = None
        found = self._due(name)
        if found is not None:
            key = self._keys[name] = found[0].key
            self._sent[key], wanted[key] = found

    def _due(self, name: TopicPartition) -> tuple[_Sent, FetchPartition] | None:
        """Returns None if the partition is not to be fetched now."""
        partition = self._partitions.get(name)
        role = None if partition is None else partition.role
        if partition is None or not isinstance(role, Follower) or role.leader_id != self.leader_id:
            return None
        if self._fenced.get(name) is role or name in self._not_before:
            return None
        log = self._log_of(partition)
        if log is None:
            self._delay((name,))
            return None
        if name not in self._caught_up and self._is_listed(name, log) and self._quota.is_exceeded:
            self._delay((name,), min(self._quota.pause, self._settings.backoff_seconds))
            return None
        end = log.log_end_offset
        wanted = FetchPartition(
            name.partition,
            end,
            self._settings.max_bytes,
            role.epoch,
            log.leader_epochs.latest_epoch,
            log.log_start_offset,
        )
        return _Sent(partition, role, end), wanted

    def _log_of(self, partition: Partition) -> Log | None:
        """Returns None if the log cannot be used. That is logged once."""
        name = partition.topic_partition
        try:
            log = partition.log
            if log.is_offline:
                raise StorageError("its log directory is offline")
        except KafkaError as error:
            if name not in self._interrupted:
                self._interrupted.add(name)
                logger.error("Replication of %s is interrupted: %s", name, error.message)
            return None
        self._interrupted.discard(name)
        return log

    def _is_listed(self, name: TopicPartition, log: Log) -> bool:
        """Whether this replica is throttled while it is not in sync."""
        return self._quota.is_listed(*name, log.config.follower_replication_throttled_replicas)

    async def _fetch(self, request: FetchRequest) -> None:
        settings = self._settings
        timeout = settings.timeout_seconds + settings.wait_max_ms / 1000
        answer = await self._send(replica_fetch_request(request), timeout)
        try:
            response = parse_fetch_response(answer.version, answer.body)
        except MALFORMED as error:
            raise KafkaError(f"Malformed response to FETCH: {error}") from error
        if response.error_code in _SESSION_REFUSED:
            self._session.reset()
            return
        if response.error_code:
            raise KafkaError(f"The leader refused FETCH with error {response.error_code}")
        is_full = self._session.is_new
        self._session.on_response(response.session_id)
        out_of_range = await self._apply(response, is_full=is_full)
        if out_of_range:
            await self._reset(out_of_range)

    # --- the response ---------------------------------------------------------------------------------

    async def _apply(self, response: FetchResponse, *, is_full: bool) -> list[_Sent]:
        """Returns the partitions whose log end the leader does not have."""
        requested = dict(self._sent) if is_full else None
        out_of_range = []
        for topic in response.topics:
            for fetched in topic.partitions:
                each = self._sent.get(SessionPartition(topic.topic_id, fetched.partition))
                if each is None:
                    continue
                if requested is not None:
                    requested.pop(each.key, None)
                self._changed[each.partition.topic_partition] = None
                if not _is_current(each):
                    continue
                if fetched.error_code == ErrorCode.offset_out_of_range:
                    out_of_range.append(each)
                    continue
                self._apply_partition(each, fetched)
                is_cut = fetched.diverging is not None
                await self._turn.spend(_TRUNCATING if is_cut else 1 + len(fetched.records) // _BYTES_PER_UNIT)
        if requested:  # A full response names every partition.
            self._delay(each.partition.topic_partition for each in requested.values())
        return out_of_range

    def _apply_partition(self, each: _Sent, fetched: FetchedPartition) -> None:
        partition, code = each.partition, fetched.error_code
        name = partition.topic_partition
        if code == ErrorCode.fenced_leader_epoch:
            logger.info("Leader %d has a newer epoch of %s than this follower", self.leader_id, name)
            self._fenced[name] = each.role
        elif code:
            logger.debug("Leader %d answers error %d for %s", self.leader_id, code, name)
            self._delay((name,))
        else:
            try:
                if fetched.diverging is not None:
                    self._truncate(partition, *fetched.diverging)
                else:
                    partition.append_fetched(
                        fetched.records, fetched.high_watermark, fetched.log_start_offset
                    )
                    self._note_progress(name, partition.log, fetched)
            except KafkaError as error:
                logger.error("Cannot apply what the leader sent for %s: %s", name, error.message)
                self._delay((name,))

    def _note_progress(self, name: TopicPartition, log: Log, fetched: FetchedPartition) -> None:
        if log.log_end_offset >= fetched.high_watermark:
            self._caught_up.add(name)
        else:
            self._caught_up.discard(name)
        if fetched.records and self._is_listed(name, log):
            self._quota.record(len(fetched.records))

    def _truncate(self, partition: Partition, epoch: int, end_offset: int) -> None:
        before = partition.log.log_end_offset
        partition.truncate_to_divergence(epoch, end_offset)
        logger.info(
            "Truncated %s from %d to %d: it differs from leader %d after epoch %d",
            *(partition.topic_partition, before, partition.log.log_end_offset, self.leader_id, epoch),
        )

    async def _reset(self, sent: Sequence[_Sent]) -> None:
        """Ask the leader for the range of its logs, and continue within it."""
        ends = await self._offsets(sent, LATEST_TIMESTAMP)
        starts = await self._offsets(sent, EARLIEST_TIMESTAMP)
        for each in sent:
            name = each.partition.topic_partition
            start, end = starts.get(name), ends.get(name)
            if not _is_current(each):
                continue
            if start is None or end is None or start.error_code or end.error_code:
                self._delay((name,))
                continue
            each.partition.truncate_to_range(start.offset, end.offset, each.role.epoch)
            self._changed[name] = None
            now = each.partition.log.log_end_offset
            logger.warning(
                "Leader %d has no offset %d of %s (it has %d to %d): continuing at %d",
                *(self.leader_id, each.offset, name, start.offset, end.offset, now),
            )
            if now == each.offset:
                self._delay((name,))
            await self._turn.spend(_TRUNCATING)

    async def _offsets(self, sent: Sequence[_Sent], timestamp: int) -> dict[TopicPartition, ListedOffset]:
        queries = [OffsetQuery(each.partition.topic_partition, each.role.epoch, timestamp) for each in sent]
        request = replica_offsets_request(self._settings.replica_id, queries)
        answer = await self._send(request, self._settings.timeout_seconds)
        return parse_replica_offsets(answer.version, answer.body)


def _topics(wanted: Mapping[SessionPartition, FetchPartition]) -> list[FetchTopic]:
    topics: dict[UUID, FetchTopic] = {}
    for key, each in wanted.items():
        topics.setdefault(key.topic_id, FetchTopic("", key.topic_id, [])).partitions.append(each)
    return list(topics.values())


def _forgotten(keys: Iterable[SessionPartition]) -> list[ForgottenTopic]:
    topics: dict[UUID, list[int]] = defaultdict(list)
    for topic_id, partition in keys:
        topics[topic_id].append(partition)
    return [ForgottenTopic("", topic_id, partitions) for topic_id, partitions in topics.items()]


def _is_current(sent: _Sent) -> bool:
    """Whether the partition has still the role and the log end with which it was requested."""
    return sent.partition.role is sent.role and sent.partition.log.log_end_offset == sent.offset
