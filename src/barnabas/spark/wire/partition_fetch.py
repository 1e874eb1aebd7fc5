"""Reading a range of one partition, as chunks of whole record batches.

While the caller decodes a chunk, the next one is requested: one request is sent ahead. Chunks follow each
other without a gap. A broker failure, a restart or a change of leader costs time. After `poll_timeout`
without a record the last failure is raised. Offsets are skipped without a record only if the log can have
none there (`log_tail`). A chunk may begin before
the requested offset and end behind `stop`, because batches are never cut: the decoder leaves out rows
outside the range.

A fetcher holds one connection of the cluster's for itself while it reads.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from barnabas.base.receive_buffers import ReceiveBuffers
from barnabas.client.admin.offsets import EARLIEST, LATEST, list_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.connection import Connection
from barnabas.client.errors import BrokerError, ClientError, TimedOut, Unreachable
from barnabas.spark.wire.attempts import Attempts, is_retriable
from barnabas.spark.wire.batch_walk import offset_after
from barnabas.spark.wire.errors import NothingArrives, OffsetOutOfRange, TopicRecreated
from barnabas.spark.wire.log_tail import Tail, inspect_tail
from barnabas.spark.wire.single_fetch import (
    Fetched,
    FetchTarget,
    parse_fetched,
    single_fetch_request,
    version_for,
)
from barnabas.spark.wire.topic_view import view_topic
from barnabas.wire.response_reader import MALFORMED

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
_OFFSET_OUT_OF_RANGE, _CORRUPT_MESSAGE = 1, 2
_ALSO_RETRIABLE = frozenset({-1})
"""Beyond what the protocol calls retriable: Kafka's consumer too retries after UNKNOWN_SERVER_ERROR."""
_REPLICA_LIFE = 300.0
"""How long a replica that the leader named is read from before the leader is used again, in seconds."""
_EMPTY_ANSWERS = 3
"""After so many answers without a record, from a log that ends behind the range, its tail is inspected."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    isolation: int = READ_UNCOMMITTED
    max_bytes: int = 8 << 20
    """Of one answer; a single batch that is larger still comes whole."""
    partition_max_bytes: int = 8 << 20
    min_bytes: int = 1
    max_wait_ms: int = 500
    poll_timeout: float = 120.0
    """The longest time without a record, in seconds."""
    retry_backoff: float = 0.1
    check_crcs: bool = True
    """For the decoder."""
    rack: str = ""
    """Where the reader is: a leader may name a replica that is closer."""


@dataclass(frozen=True, slots=True)
class FetchedChunk:
    records: memoryview
    """Whole batches only; good for as long as anything refers to it."""
    aborted: tuple[tuple[int, int], ...]
    """Producer id and first offset of aborted transactions, for readers of committed records."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    next_offset: int
    """The one after the last batch, where the next chunk begins."""


class _Source:
    """The broker that is read from, and the connection to it."""

    __slots__ = ("connection", "expires", "node", "topic_id", "version")

    def __init__(self, connection: Connection, node: int, topic_id: UUID | None) -> None:
        self.connection: Connection = connection
        self.node: int = node
        self.topic_id: UUID | None = topic_id
        self.version: int = version_for(connection, topic_id)
        self.expires: float | None = None
        """When a replica that is not the leader has been read from for long enough."""


class PartitionFetcher:
    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        settings: FetchSettings,
        topic_id: UUID | None = None,
    ) -> None:
        """With a `topic_id`, a topic of another id is never read."""
        self._cluster: Cluster = cluster
        self._topic: str = topic
        self._partition: int = partition
        self._settings: FetchSettings = settings
        self._buffers: ReceiveBuffers = ReceiveBuffers()
        self._source: _Source | None = None
        self._topic_id: UUID | None = topic_id
        self._replica: int | None = None
        self._requested: int | None = None
        """The offset of the request in flight."""
        self._attempts: Attempts = Attempts(settings.poll_timeout, settings.retry_backoff)
        self._empty_answers: int = 0
        self._tail: Tail | None = None

    def chunks(self, start: int, stop: int) -> Iterator[FetchedChunk]:
        """Of the offsets from `start` up to, not including, `stop`. May be called again for another range.

        Raises OffsetOutOfRange, BrokerError, and what the last of many failures was.
        """
        self._attempts.progressed()
        position = start
        try:
            while position < stop:
                chunk = self._next(position, stop)
                if chunk is None:
                    continue
                position = chunk.next_offset
                if position < stop:
                    self._send_ahead(position)
                yield chunk
                self._attempts.progressed()  # the time the caller took is not the broker's
        finally:
            self._let_go()

    # --- one step --------------------------------------------------------------------------------------

    def _next(self, position: int, stop: int) -> FetchedChunk | None:
        """None if there is nothing yet. Waits for the backoff, if there is one, before the next request."""
        try:
            fetched = self._fetch(position)
            if fetched.partition.error_code == _OFFSET_OUT_OF_RANGE:
                self._check_range(position)
            if fetched.partition.error_code:
                raise self._error(fetched.partition.error_code)
        except ClientError as error:
            self._let_go()
            if not is_retriable(error, _ALSO_RETRIABLE) or _is_corrupt(error):
                raise
            self._cluster.forget()
            self._attempts.failed(error)
            return None
        return self._chunk(fetched, position, stop)

    def _chunk(self, fetched: Fetched, position: int, stop: int) -> FetchedChunk | None:
        next_offset, size = offset_after(fetched.partition.records, position)
        if next_offset == position:
            return self._nothing(fetched, position, stop)
        self._empty_answers, self._tail = 0, None
        self._attempts.progressed()
        return FetchedChunk(
            fetched.partition.records[:size],
            tuple(fetched.partition.aborted),
            fetched.partition.high_watermark,
            fetched.partition.last_stable_offset,
            fetched.partition.log_start_offset,
            next_offset,
        )

    def _nothing(self, fetched: Fetched, position: int, stop: int) -> FetchedChunk | None:
        """Not yet, or never: compaction may remove the last records of a log and leave its end."""
        if fetched.partition.preferred_read_replica >= 0:
            self._follow(fetched.partition.preferred_read_replica)
            return None
        is_committed = self._settings.isolation == READ_COMMITTED
        end = fetched.partition.last_stable_offset if is_committed else fetched.partition.high_watermark
        is_behind = end >= stop and not fetched.throttle_ms
        if is_behind and self._has_no_more(position):
            self._empty_answers, self._tail = 0, None
            return FetchedChunk(
                memoryview(b""),
                (),
                fetched.partition.high_watermark,
                end,
                fetched.partition.log_start_offset,
                stop,
            )
        if self._attempts.is_over:
            raise NothingArrives(self._complaint(position, end, stop))
        if is_behind:
            self._attempts.pause()
        return None

    def _has_no_more(self, position: int) -> bool:
        """Whether the log's tail is known to hold no record from here on."""
        self._empty_answers += 1
        is_open = self._tail is None or not self._tail.is_known
        if is_open and self._empty_answers >= _EMPTY_ANSWERS:
            self._tail = inspect_tail(self._cluster, self._topic, self._partition, position)
        return self._tail is not None and self._tail.may_be_empty

    def _complaint(self, position: int, end: int, stop: int) -> str:
        timeout_ms = self._settings.poll_timeout * 1000
        failed = (
            f"Cannot fetch record for offset {position} of {self._topic}-{self._partition} in "
            f"{timeout_ms:.0f} milliseconds"
        )
        if self._tail is None:
            return f"{failed}: its end is at {end}, {stop} was expected"
        return (
            f"{failed}: the broker answers without an error and without records, although the partition ends "
            f"at {end}, and {self._tail.reason}. If the records are in tiered storage, set "
            "kafkaConsumer.pollTimeoutMs and kafka.fetch.max.wait.ms higher"
        )

    def _check_range(self, position: int) -> None:
        """Raises OffsetOutOfRange, unless the log has the offset after all: a new leader was behind."""
        if self._replica is not None:
            self._replica = None  # followers lag, and begin elsewhere: the leader decides
            return
        bounds = []
        for timestamp in (EARLIEST, LATEST):
            topic_partition = self._topic, self._partition
            isolation = self._settings.isolation
            listed = list_offsets(self._cluster, {topic_partition: timestamp}, isolation=isolation)[
                topic_partition
            ]
            if isinstance(listed, BrokerError):
                raise listed
            bounds.append(listed.offset)
        if not bounds[0] <= position <= bounds[1]:
            raise OffsetOutOfRange(self._topic, self._partition, position, bounds[0], bounds[1])

    def _error(self, code: int) -> ClientError:
        if code == _OFFSET_OUT_OF_RANGE:
            return Unreachable(f"{self._topic}-{self._partition}: its leader does not know its end yet")
        return BrokerError(code, f"{self._topic}-{self._partition}: {BrokerError(code).message}")

    # --- the broker ------------------------------------------------------------------------------------

    def _fetch(self, position: int) -> Fetched:
        """The response for this offset, whether it was requested ahead or not."""
        if self._requested is not None and self._requested != position:
            self._let_go()
        source = self._open()
        if self._requested is None:
            self._send(source, position)
        self._requested = None
        answer = source.connection.receive(self._buffers.take)
        try:
            return parse_fetched(source.version, answer)
        except MALFORMED as error:
            raise source.connection.refused("fetch") from error

    def _send_ahead(self, position: int) -> None:
        try:
            if (source := self._source) is not None:
                self._send(source, position)
        except (Unreachable, TimedOut):
            self._let_go()  # seen again, and counted, when the answer is wanted

    def _send(self, source: _Source, position: int) -> None:
        settings = self._settings
        target = FetchTarget(
            self._topic,
            source.topic_id,
            self._partition,
            position,
            settings.isolation,
            settings.max_wait_ms,
            settings.min_bytes,
            settings.max_bytes,
            settings.partition_max_bytes,
            settings.rack,
        )
        source.connection.send(single_fetch_request(source.version, target))
        self._requested = position

    def _open(self) -> _Source:
        source = self._source
        if source is not None and source.expires is not None and time.monotonic() > source.expires:
            self._let_go()
            self._replica = None
            source = None
        if source is None:
            source = self._source = self._connect()
        return source

    def _connect(self) -> _Source:
        view = view_topic(self._cluster, self._topic)
        if self._topic_id is not None and view.id is not None and view.id != self._topic_id:
            raise TopicRecreated(self._topic, self._topic_id, view.id)
        node = view.leader(self._topic, self._partition) if self._replica is None else self._replica
        try:
            connection = self._cluster.lease(node)
        except Unreachable:
            self._replica = None
            raise
        source = _Source(connection, node, view.id)
        if self._replica is not None:
            source.expires = time.monotonic() + _REPLICA_LIFE
        self._topic_id = view.id or self._topic_id
        return source

    def _follow(self, replica: int) -> None:
        """Read from the replica that the leader named (KIP-392)."""
        self._let_go()
        self._replica = replica

    def _let_go(self) -> None:
        if self._source is not None:
            self._cluster.give_back(self._source.connection)
        self._source = self._requested = None


def _is_corrupt(error: ClientError) -> bool:
    """A batch damaged on its way to the broker may be sent again; one damaged on its disk stays so."""
    return isinstance(error, BrokerError) and error.code == _CORRUPT_MESSAGE
