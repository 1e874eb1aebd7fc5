"""Incremental fetch sessions (KIP-227).

A session remembers the partitions that a client fetches. A request then names only what changed, and a
response only what is new. Epoch 0 opens a session, -1 closes it, and each request must carry the next epoch.
The cache is bounded: a session is evicted after two minutes without use, or earlier for a larger one.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import NamedTuple
from uuid import UUID

from barnabas.base.clock import Clock
from barnabas.base.errors import ErrorCode
from barnabas.wire.fetch import FetchPartition, FetchPartitionResult, FetchRequest, FetchTopicResult

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_MIN_IDLE_SECONDS = 120.0
_MAX_EPOCH = 2**31 - 1


class FetchPartitionKey(NamedTuple):
    """A partition as its client names it: by topic name (up to version 12) or by topic id."""

    name: str
    topic_id: UUID
    partition: int


@dataclass(slots=True)
class CachedPartition:
    """The client's request for a partition, and what the last response said."""

    request: FetchPartition
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    had_error: bool = False

    def must_answer(self, result: FetchPartitionResult) -> bool:
        """Returns True if the client does not know this result yet. Remembers the result."""
        changed = (
            result.records is not None
            or result.error_code != 0
            or self.had_error
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
            or result.last_stable_offset != self.last_stable_offset
            or result.diverging is not None
            or result.preferred_replica >= 0
        )
        self.high_watermark = result.high_watermark
        self.last_stable_offset = result.last_stable_offset
        self.log_start_offset = result.log_start_offset
        self.had_error = result.error_code != 0
        return changed


class FetchSession:
    __slots__ = ("epoch", "id", "last_used", "partitions", "uses_topic_ids")

    def __init__(self, session_id: int, uses_topic_ids: bool, now: float) -> None:
        self.id: int = session_id
        self.epoch: int = 1
        self.uses_topic_ids: bool = uses_topic_ids
        self.last_used: float = now
        self.partitions: dict[FetchPartitionKey, CachedPartition] = {}

    def update(self, request: FetchRequest) -> None:
        for forgotten in request.forgotten:
            for partition in forgotten.partitions:
                self.partitions.pop(FetchPartitionKey(forgotten.name, forgotten.topic_id, partition), None)
        for key, wanted in keyed(request):
            self._want(key, wanted)

    def update_in_steps(self, request: FetchRequest) -> Iterator[None]:
        for forgotten in request.forgotten:
            for partition in forgotten.partitions:
                self.partitions.pop(FetchPartitionKey(forgotten.name, forgotten.topic_id, partition), None)
                yield
        for key, wanted in _mentions(request):
            self._want(key, wanted)
            yield

    def _want(self, key: FetchPartitionKey, wanted: FetchPartition) -> None:
        cached = self.partitions.get(key)
        if cached is None:
            self.partitions[key] = CachedPartition(wanted)
        else:
            cached.request = wanted

    def filter(self, topics: list[FetchTopicResult]) -> list[FetchTopicResult]:
        """Returns the results to send. Partitions with records move to the end of the next round."""
        answered: list[FetchTopicResult] = []
        for name, topic_id, results in topics:
            changed: list[FetchPartitionResult] = []
            for result in results:
                key = FetchPartitionKey(name if not self.uses_topic_ids else "", topic_id, result.partition)
                cached = self.partitions.get(key)
                if cached is None or cached.must_answer(result):
                    changed.append(result)
                if cached is not None and result.records is not None:
                    # Fairness: a partition that has returned records is read last next time.
                    self.partitions[key] = self.partitions.pop(key)
            if changed:
                answered.append(FetchTopicResult(name, topic_id, changed))
        return answered


def keyed(request: FetchRequest) -> list[tuple[FetchPartitionKey, FetchPartition]]:
    """Each partition once. As in Kafka, the last mention counts, at the position of the first."""
    wanted = [
        (FetchPartitionKey(topic.name, topic.topic_id, each.partition), each)
        for topic in request.topics
        for each in topic.partitions
    ]
    return wanted if len(wanted) == 1 or _names_each_once(request) else list(dict(wanted).items())


def _mentions(request: FetchRequest) -> Iterator[tuple[FetchPartitionKey, FetchPartition]]:
    for topic in request.topics:
        for each in topic.partitions:
            yield FetchPartitionKey(topic.name, topic.topic_id, each.partition), each


def _names_each_once(request: FetchRequest) -> bool:
    topics = request.topics
    if len(topics) > 1 and len({(topic.name, topic.topic_id.int) for topic in topics}) < len(topics):
        return False
    return all(
        len({each.partition for each in topic.partitions}) == len(topic.partitions) for topic in topics
    )


class Resolved(NamedTuple):
    """The partitions that a request fetches, with its session taken into account."""

    error: ErrorCode
    session: FetchSession | None
    is_full: bool
    """A full response names every partition, an incremental one only what changed."""
    partitions: list[tuple[FetchPartitionKey, FetchPartition]]


class FetchSessions:
    def __init__(self, slots: int, clock: Clock, rng: Random | None = None) -> None:
        self._slots: int = slots
        self._clock: Clock = clock
        self._rng: Random = rng or SystemRandom()
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def partitions_of(self, session_id: int) -> list[FetchPartitionKey]:
        """The partitions that a session remembers. Empty if it does not exist."""
        session = self._sessions.get(session_id)
        return [] if session is None else list(session.partitions)

    def resolve(self, request: FetchRequest, uses_topic_ids: bool) -> Resolved:
        epoch = request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._sessions.pop(request.session_id, None)
            wanted = keyed(request)
            session = self._open(len(wanted), uses_topic_ids) if epoch == INITIAL_EPOCH else None
            if session is not None:
                session.partitions = {key: CachedPartition(each) for key, each in wanted}
            return Resolved(ErrorCode.none, session, True, wanted)
        continued = self._continued(request, uses_topic_ids)
        if not isinstance(continued, FetchSession):
            return Resolved(continued, None, True, [])
        continued.update(request)
        wanted = [(key, cached.request) for key, cached in continued.partitions.items()]
        return Resolved(ErrorCode.none, continued, False, wanted)

    def resolve_in_steps(
        self, request: FetchRequest, uses_topic_ids: bool
    ) -> Generator[None, None, Resolved]:
        """The same for a request that names very many partitions, each of them once."""
        epoch = request.session_epoch
        wanted: list[tuple[FetchPartitionKey, FetchPartition]] = []
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._sessions.pop(request.session_id, None)
            count = sum(len(topic.partitions) for topic in request.topics)
            session = self._open(count, uses_topic_ids) if epoch == INITIAL_EPOCH else None
            for key, each in _mentions(request):
                wanted.append((key, each))
                if session is not None:
                    session.partitions[key] = CachedPartition(each)
                yield
            return Resolved(ErrorCode.none, session, True, wanted)
        continued = self._continued(request, uses_topic_ids)
        if not isinstance(continued, FetchSession):
            return Resolved(continued, None, True, [])
        yield from continued.update_in_steps(request)
        for key, cached in list(continued.partitions.items()):
            wanted.append((key, cached.request))
            yield
        return Resolved(ErrorCode.none, continued, False, wanted)

    def _continued(self, request: FetchRequest, uses_topic_ids: bool) -> FetchSession | ErrorCode:
        """Returns the session of an incremental request, which counts from now on."""
        session = self._sessions.get(request.session_id)
        if session is None:
            return ErrorCode.fetch_session_id_not_found
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.fetch_session_topic_id_error
        if session.epoch != request.session_epoch:
            return ErrorCode.invalid_fetch_session_epoch
        session.epoch = 1 if session.epoch == _MAX_EPOCH else session.epoch + 1
        session.last_used = self._clock.monotonic()
        return session

    def _open(self, size: int, uses_topic_ids: bool) -> FetchSession | None:
        """Returns a session without partitions, or None if there is no room for one of `size`."""
        if not size or not self._make_room(size):
            return None
        session_id = self._rng.randrange(1, 2**31 - 1)
        while session_id in self._sessions:
            session_id = self._rng.randrange(1, 2**31 - 1)
        session = FetchSession(session_id, uses_topic_ids, self._clock.monotonic())
        self._sessions[session_id] = session
        return session

    def _make_room(self, size: int) -> bool:
        """If all slots are taken, evict the longest unused session, or else a smaller one."""
        if len(self._sessions) < self._slots:
            return True
        if not self._sessions:
            return False
        oldest = min(self._sessions.values(), key=lambda session: session.last_used)
        if self._clock.monotonic() - oldest.last_used > _MIN_IDLE_SECONDS:
            del self._sessions[oldest.id]
            return True
        smallest = min(self._sessions.values(), key=lambda session: len(session.partitions))
        if len(smallest.partitions) < size:
            del self._sessions[smallest.id]
            return True
        return False
