"""Fetch (1), versions 4 to 18.

Long poll: the answer waits until `min_bytes` are readable or `max_wait` is over. The first batch is returned
whole even when it is larger than every limit, and the batch that holds the requested offset is returned
whole: the client skips the records before it. Record bytes are file ranges, sent by the connection with
`sendfile`; small ones are read. KIPs: 74 (response limit), 98 (aborted transactions), 227 (sessions), 320
(leader epochs), 516 (topic ids, v13), 595 (diverging epochs), 951 (leader hints, v16).

A fetch with a replica id is a follower's: from any other client it is NOT_LEADER_OR_FOLLOWER, or
UNKNOWN_LEADER_EPOCH if it names the epoch, as in Kafka.

KIP-392: from version 11 on every replica serves consumers, up to its own high watermark. If
`replica.selector.class` is Kafka's RackAwareReplicaSelector, a leader sends a consumer to a replica in its
rack; such a response has no records.
"""

import asyncio
import logging
from pathlib import Path

from barnabas.base.background_threads import threads_of
from barnabas.base.errors import (
    ErrorCode,
    KafkaError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownTopicId,
    UnknownTopicOrPartition,
    error_of,
)
from barnabas.base.ranges import FileRange
from barnabas.handlers.context import RecordContext
from barnabas.handlers.fetch_sessions import FetchPartitionKey, Resolved
from barnabas.handlers.leader_hints import endpoints_for, hint_for
from barnabas.handlers.preferred_replica import preferred_replica
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending
from barnabas.replication.parked_fetch import ParkedFetch
from barnabas.replication.partition import Partition
from barnabas.replication.partition_environment import READ_COMMITTED, FetchIsolation, ReadResult
from barnabas.replication.partitions import HostedTopic
from barnabas.storage.page_cache import is_cached, read_cached, warm
from barnabas.wire.fetch import (
    FIRST_WITH_ENDPOINTS,
    FIRST_WITH_RACK,
    FIRST_WITH_TOPIC_IDS,
    FetchPartition,
    FetchPartitionResult,
    FetchRequest,
    FetchTopicResult,
    encode_fetch_response,
    parse_fetch,
    size_of,
)
from barnabas.wire.header import RequestHeader
from barnabas.wire.primitives import NodeEndpoint

logger = logging.getLogger("requests")

# A range this small is read: one copy costs less than the calls that send it from the file.
_READ_UP_TO = 32 * 1024
# Requests, and fetches of so many partitions, that take more than a few milliseconds.
_LONG_FRAME = 16 * 1024
_READ_AT_ONCE = 250
_ERRORS_WITH_A_HINT = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)


Topics = dict[tuple[str, object], FetchTopicResult]


def handle_frame(
    context: RecordContext, connection: Connection, header: RequestHeader, frame: memoryview, position: int
) -> Parts | Pending:
    if len(frame) > _LONG_FRAME:
        from barnabas.handlers.long_fetch import read_and_answer

        return read_and_answer(context, connection, header, frame, position)
    request = parse_fetch(header.version, frame, position)
    resolved = context.fetch_sessions.resolve(request, header.version >= FIRST_WITH_TOPIC_IDS)
    return answer(context, connection, header, request, resolved)


def answer(
    context: RecordContext,
    connection: Connection,
    header: RequestHeader,
    request: FetchRequest,
    resolved: Resolved,
) -> Parts | Pending:
    if resolved.error is not ErrorCode.none:
        return encode_fetch_response(header.version, header.correlation_id, (), error_code=resolved.error)
    fetch = Fetch(context, connection, header, request, resolved)
    if len(resolved.partitions) > _READ_AT_ONCE:
        from barnabas.handlers.long_fetch import answer_in_slices

        return answer_in_slices(fetch)
    return fetch.start()


class Fetch:
    """One request from reading to answering; reads again each time it is woken."""

    __slots__ = (
        "_for_replica",
        "_needs_leader",
        "_pending",
        "_reads",
        "_selects_replica",
        "connection",
        "context",
        "has_error",
        "header",
        "is_held_back",
        "isolation",
        "request",
        "resolved",
        "throttled_size",
        "total",
    )

    def __init__(
        self,
        context: RecordContext,
        connection: Connection,
        header: RequestHeader,
        request: FetchRequest,
        resolved: Resolved,
    ) -> None:
        self.context: RecordContext = context
        self.connection: Connection = connection
        self.header: RequestHeader = header
        self.request: FetchRequest = request
        self.resolved: Resolved = resolved
        self._for_replica: bool = request.replica_id >= 0
        self._needs_leader: bool = self._for_replica or header.version < FIRST_WITH_RACK
        self._selects_replica: bool = (
            bool(request.rack_id) and not self._for_replica and context.config.selects_replica_by_rack
        )
        self.isolation: FetchIsolation = _isolation_of(request)
        self._pending: Pending | None = None
        self._reads: int = 0
        self.total: int = 0
        self.throttled_size: int = 0
        """Bytes of the answer that count against the throttle of replication."""
        self.has_error: bool = False
        self.is_held_back: bool = False
        """The throttle of replication keeps records from a follower."""

    def start(self) -> Parts | Pending:
        results = self._read()
        request = self.request
        if request.max_wait_ms <= 0 or not results or self.has_error or self.total >= request.min_bytes:
            return self.answer(results)
        pending = self._pending = Pending()
        parked = ParkedFetch(
            self.known_partitions(),
            request.min_bytes - self.total,
            self.max_wait,
            asyncio.get_running_loop(),
            self._try_complete,
            isolation=self.isolation,
        )
        pending.on_cancel(parked.forget)
        return pending

    @property
    def max_wait(self) -> float:
        """Seconds. A follower that is held back is answered when the throttle allows it."""
        seconds = self.request.max_wait_ms / 1000
        return min(seconds, self.context.replication_quota.pause) if self.is_held_back else seconds

    def _try_complete(self, is_final: bool) -> int:
        """Read again; answer when there is enough. Returns the bytes still missing."""
        results = self._read()
        missing = self.request.min_bytes - self.total
        if missing > 0 and not self.has_error and not is_final:
            return missing
        assert self._pending is not None
        answer = self.answer(results)
        if isinstance(answer, Pending):
            later, pending = answer, self._pending
            later.when_complete(lambda: pending.complete(later.parts))
        else:
            self._pending.complete(answer)
        return 0

    # --- reading ------------------------------------------------------------------------------------

    def _read(self) -> list[FetchTopicResult]:
        topics: Topics = {}
        left = self.begin_reading()
        for key, wanted in self.resolved.partitions:
            left -= self.read_into(topics, key, wanted, left)
        return list(topics.values())

    def begin_reading(self) -> int:
        """Bytes that all partitions together may have in the answer."""
        self.total, self.throttled_size, self.has_error, self.is_held_back = 0, 0, False, False
        self._reads += 1
        return min(self.request.max_bytes, self.context.config.fetch_max_bytes)

    def read_into(self, topics: "Topics", key: FetchPartitionKey, wanted: FetchPartition, left: int) -> int:
        """Read one partition and add what was found; its size."""
        result = self._read_partition(key, wanted, left)
        topic = topics.get(key[:2])
        if topic is None:
            topic = topics[key[:2]] = FetchTopicResult(key.name, key.topic_id, [])
        topic.partitions.append(result)
        if result.records is None:
            return 0
        size = size_of(result.records)
        self.total += size
        return size

    def _read_partition(
        self, key: FetchPartitionKey, wanted: FetchPartition, left: int
    ) -> FetchPartitionResult:
        partition = None
        try:
            partition = self._find(key)
            if self._needs_leader:
                partition.check_leader(wanted.leader_epoch)
            else:
                partition.check_replica_here(wanted.leader_epoch)
            if self._for_replica:
                partition.check_replica(self.request.replica_id, wanted.leader_epoch)
            elif self._selects_replica:
                preferred = preferred_replica(
                    self.context, partition, self.request.rack_id, self.connection.peer, wanted.offset
                )
                if preferred >= 0:
                    return self._redirection(partition, wanted.partition, preferred)
            diverging = _diverging(partition, wanted)
            if diverging is not None:
                self.has_error = True
                return FetchPartitionResult(wanted.partition, 0, -1, -1, -1, None, None, None, diverging)
            is_held_back = self._for_replica and self._is_held_back(partition)
            found = partition.read(
                wanted.offset,
                0 if is_held_back else min(wanted.max_bytes, left),
                isolation=self.isolation,
                # One batch at least in the whole answer, or a large batch would block its readers forever.
                min_one_batch=self.total == 0 and not is_held_back,
            )
            if self._for_replica:
                self._note_follower(partition, wanted, found)
            return self._result_of(partition, wanted, found)
        except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
            return self._failure(key, partition, error)

    def _redirection(self, partition: Partition, number: int, preferred: int) -> FetchPartitionResult:
        """The consumer reads from another replica: it gets its answer at once, without records."""
        self.has_error = True
        log = partition.log
        offsets = log.high_watermark, log.last_stable_offset, log.log_start_offset
        return FetchPartitionResult(number, 0, *offsets, preferred_replica=preferred)

    def _is_held_back(self, partition: Partition) -> bool:
        """The follower is not in sync, and this broker sends throttled replicas faster than allowed."""
        if (
            self._is_throttled(partition)
            and not partition.has_in_sync(self.request.replica_id)
            and self.context.replication_quota.is_exceeded
        ):
            self.is_held_back = True
            return True
        return False

    def _is_throttled(self, partition: Partition) -> bool:
        replicas = partition.log.config.leader_replication_throttled_replicas
        quota = self.context.replication_quota
        return bool(replicas) and quota.is_listed(*partition.topic_partition, replicas)

    def _note_follower(self, partition: Partition, wanted: FetchPartition, found: ReadResult) -> None:
        # After the read: a fetch that failed says nothing about the follower. Nor does one that reads again
        # after it was parked: the follower may have started anew since it came.
        if self._reads == 1:
            request = self.request
            partition.on_follower_fetch(
                request.replica_id, wanted.offset, wanted.log_start_offset, request.replica_epoch
            )
        if found.records is not None and self._is_throttled(partition):
            self.throttled_size += found.records.size

    def _result_of(
        self, partition: Partition, wanted: FetchPartition, found: ReadResult
    ) -> FetchPartitionResult:
        records: FileRange | bytearray | None = None
        aborted = None
        # A slice of no bytes: there was no room left for its first batch.
        readable = found.records if found.records is not None and found.records.size else None
        if readable is not None:
            records = FileRange(readable.file, readable.position, readable.size)
            if records.size <= _READ_UP_TO:
                records = read_cached(records) or records
        if self.request.isolation_level == READ_COMMITTED:
            aborted = [] if readable is None else partition.aborted_in(readable)
        return FetchPartitionResult(
            wanted.partition,
            0,
            found.high_watermark,
            found.last_stable_offset,
            found.log_start_offset,
            aborted,
            records,
        )

    def _hosted(self, key: FetchPartitionKey) -> HostedTopic | None:
        partitions = self.context.partitions
        if self.header.version >= FIRST_WITH_TOPIC_IDS:
            return partitions.topic_by_id(key.topic_id)
        return partitions.topic(key.name)

    def _find(self, key: FetchPartitionKey) -> Partition:
        hosted = self._hosted(key)
        if hosted is None and self.header.version >= FIRST_WITH_TOPIC_IDS:
            raise UnknownTopicId
        found = None if hosted is None else hosted.partitions.get(key.partition)
        if found is None:
            known = None if hosted is None else self.context.image.partition(hosted.name, key.partition)
            raise UnknownTopicOrPartition if known is None else NotLeaderOrFollower
        return found

    def _failure(
        self, key: FetchPartitionKey, partition: Partition | None, error: Exception
    ) -> FetchPartitionResult:
        self.has_error = True
        code, _ = error_of(error)
        if not isinstance(error, KafkaError):
            logger.error("Read of partition %s failed", key.partition, exc_info=error)
        leader = None
        if code in _ERRORS_WITH_A_HINT:
            hosted = self._hosted(key)
            name = None if hosted is None else hosted.name
            leader = hint_for(self.context, partition, name, key.partition)
        return FetchPartitionResult(key.partition, code, leader=leader)

    def known_partitions(self) -> list[Partition]:
        return [self._find(key) for key, _ in self.resolved.partitions]

    # --- answering ----------------------------------------------------------------------------------

    def answer(self, results: list[FetchTopicResult]) -> Parts | Pending:
        return self.encode_cached(self.wanted_results(results))

    def wanted_results(self, results: list[FetchTopicResult]) -> list[FetchTopicResult]:
        """What the client does not know yet, and all of it in a full response."""
        if self.throttled_size:
            self.context.replication_quota.record(self.throttled_size)
            self.throttled_size = 0  # The results of a long fetch come in parts.
        session = self.resolved.session
        if session is None:
            return results
        changed = session.filter(results)
        return results if self.resolved.is_full else changed

    def encode_cached(self, results: list[FetchTopicResult]) -> Parts | Pending:
        """Encode; but first have bytes that are not in the page cache read by a thread."""
        ranges = [
            each.records
            for topic in results
            for each in topic.partitions
            if isinstance(each.records, FileRange) and not is_cached(each.records)
        ]
        if not ranges:
            return self._encode(results)
        later = Pending()
        loop = asyncio.get_running_loop()
        by_directory: dict[Path, list[FileRange]] = {}
        for each in ranges:
            by_directory.setdefault(Path(str(each.file.path)).parent.parent, []).append(each)
        future = asyncio.gather(
            *(
                loop.run_in_executor(threads_of(self.context.serving.executor, directory), warm, wanted)
                for directory, wanted in by_directory.items()
            )
        )

        def send(done: "asyncio.Future[list[None]]") -> None:
            if not done.cancelled() and done.exception() is not None:
                # sendfile meets the same disk: it closes the connection with its error.
                logger.error("Cannot read the records of a Fetch request from disk: %s", done.exception())
            later.complete(self._encode(results))

        future.add_done_callback(send)
        return later

    def _encode(self, results: list[FetchTopicResult]) -> Parts:
        version, session = self.header.version, self.resolved.session
        endpoints: tuple[NodeEndpoint, ...] = ()
        if self.has_error and version >= FIRST_WITH_ENDPOINTS:
            hints = [each.leader for topic in results for each in topic.partitions if each.leader is not None]
            endpoints = endpoints_for(self.context, hints, self.connection.peer)
        return encode_fetch_response(
            version,
            self.header.correlation_id,
            results,
            session_id=0 if session is None else session.id,
            endpoints=endpoints,
        )


def _isolation_of(request: FetchRequest) -> FetchIsolation:
    if request.replica_id >= 0:
        return FetchIsolation.LOG_END
    is_committed = request.isolation_level == READ_COMMITTED
    return FetchIsolation.COMMITTED if is_committed else FetchIsolation.HIGH_WATERMARK


def _diverging(partition: Partition, wanted: FetchPartition) -> tuple[int, int] | None:
    """Returns where the reader's log diverges (KIP-595). Returns None if it does not or sends no epoch."""
    if wanted.last_fetched_epoch < 0:
        return None
    found = partition.log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if found is None:
        # As in Kafka. "No divergence" would let a follower keep records that this log never had.
        raise OffsetOutOfRange(
            f"{partition.topic_partition} does not know the last fetched epoch {wanted.last_fetched_epoch}"
        )
    epoch, end_offset = found
    log = partition.log
    if wanted.offset < log.log_start_offset:
        raise OffsetOutOfRange(f"{partition.topic_partition} starts at {log.log_start_offset}")
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.offset:
        return epoch, end_offset
    return None
