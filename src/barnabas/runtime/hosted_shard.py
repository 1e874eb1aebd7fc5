"""One shard and its partition: loading, active, or closed.

Owns the order of a write: an operation reads the shard, its records are appended, the shard replays them, and
the answer is given when they are committed. All of it happens in one call on the event loop, so no other
operation runs between reading and replaying. Only independent operations (offset commits) are gathered for
the rest of the loop's turn. They are written before any other operation on the shard. A read is answered once
every record it may have seen is committed. What is not committed within the timeout fails with
COORDINATOR_NOT_AVAILABLE; its records stay. When the partition's leadership is lost, its disk fails, or a
record cannot be replayed, the shard is discarded and every waiting request fails: the log has the valid
state.
"""

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from math import inf
from typing import Any, Generic, Protocol, TypeVar, cast

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    MessageTooLarge,
    NotCoordinator,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RecordListTooLarge,
    RequestTimedOut,
    StorageBusy,
    StorageError,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from barnabas.base.ids import TopicPartition
from barnabas.runtime.alarm import Alarm, CallSoon
from barnabas.runtime.outcome import Outcome, TransactionalProducer
from barnabas.runtime.timers import Action, Key, Timers
from barnabas.storage.append_info import AppendInfo

logger = logging.getLogger("coordinator")

T = TypeVar("T")
MOST_GATHERED = 200
COMMIT_TIMEOUT_MS = 30_000
_COMMIT_TIMEOUT = ("commit-timeout",)
_ABSENT = object()
RETRY_MS = 500
"""A deadline whose records could not be written is retried after this time."""


class Shard(Protocol):
    timers: Timers

    def replay(self, record: Any) -> None: ...

    def on_loaded(self) -> None: ...

    def on_unloaded(self, error: KafkaError) -> None:
        """Answer every waiting request with `error`. No further call is made to this shard."""
        ...


class TransactionalShard(Shard, Protocol):
    """A shard whose outcomes may have a producer replays their records as that producer's."""

    def replay(self, record: Any, *, producer_id: int = -1) -> None: ...


S = TypeVar("S", bound=Shard)


class ShardLog(Protocol):
    """What a shard needs of its partition (`runtime.partition_log`)."""

    topic_partition: TopicPartition

    @property
    def is_current(self) -> bool:
        """Whether this broker still leads the partition in the shard's epoch."""
        ...

    def append(
        self, records: Sequence[Any], *, is_atomic: bool, producer: TransactionalProducer | None = None
    ) -> AppendInfo: ...

    def must_wait(self, appended: AppendInfo) -> bool: ...

    def when_acknowledged(self, appended: AppendInfo) -> Deferred[None]: ...


class ShardState(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    CLOSED = "closed"


class _Uncommitted(Generic[T]):
    """An outcome whose answer waits until the log has committed what it wrote or read."""

    __slots__ = ("answer", "deadline_ms", "outcome")

    def __init__(self, outcome: Outcome[T], deadline_ms: int) -> None:
        self.outcome: Outcome[T] = outcome
        self.deadline_ms: int = deadline_ms
        self.answer: Deferred[T] = Deferred()


class HostedShard(Generic[S]):
    def __init__(
        self,
        shard: S,
        log: ShardLog,
        alarm: Alarm,
        call_soon: CallSoon,
        on_broken: Callable[[], None],
        commit_timeout_ms: int = COMMIT_TIMEOUT_MS,
    ) -> None:
        self.shard: S = shard
        self.log: ShardLog = log
        self.state: ShardState = ShardState.LOADING
        self._gathered: list[tuple[Outcome[Any], Deferred[Any]]] = []
        self._call_soon: CallSoon = call_soon
        self._on_broken: Callable[[], None] = on_broken
        self._alarm: Alarm = alarm
        self._last: AppendInfo | None = None
        self._uncommitted: dict[_Uncommitted[Any], object] = {}
        """In the order of their deadlines."""
        self._commit_timeout_ms: int = commit_timeout_ms
        alarm.watch(shard.timers, self.run_due)

    # --- life cycle --------------------------------------------------------------------------------------

    def activate(self) -> None:
        """The shard has replayed its log. It may now complete what the log shows as incomplete."""
        self.state = ShardState.ACTIVE
        self.shard.on_loaded()
        self._alarm.reset()

    def close(self, error: KafkaError) -> None:
        if self.state is ShardState.CLOSED:
            return
        self.write_gathered()
        if self._is_closed:
            return  # Closed by `write_gathered`: the gathered records could not be written.
        self.state = ShardState.CLOSED
        self._alarm.stop()
        self.shard.on_unloaded(error)
        self.shard.timers.clear()
        for each in self._take_uncommitted():
            _not_written(each.outcome, error).when_done(each.answer.settle_as)

    @property
    def _is_closed(self) -> bool:
        return self.state is ShardState.CLOSED

    @property
    def is_loading(self) -> bool:
        return self.state is ShardState.LOADING

    @property
    def is_active(self) -> bool:
        return self.state is ShardState.ACTIVE

    def check_active(self) -> None:
        if self.state is ShardState.LOADING:
            raise CoordinatorLoadInProgress("The coordinator is loading")
        if self.state is ShardState.CLOSED or not self.log.is_current:
            raise NotCoordinator("This broker is no longer the coordinator")

    # --- operations --------------------------------------------------------------------------------------

    def write(self, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """Run an operation and write its records. Never raises: an error is the answer."""
        if self._gathered:
            self.write_gathered()
        try:
            outcome = self._run_operation(operation)
        except KafkaError as error:
            return Deferred.failed(error)
        return self.apply(outcome)

    def gather(self, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """Like `write`, in one batch with others of the loop's turn. They do not see each other's records."""
        try:
            outcome = self._run_operation(operation)
        except KafkaError as error:
            return Deferred.failed(error)
        answer: Deferred[T] = Deferred()
        self._gathered.append((outcome, answer))
        if len(self._gathered) == 1:
            self._call_soon(self.write_gathered)
        elif len(self._gathered) >= MOST_GATHERED:
            self.write_gathered()
        return answer

    def write_gathered(self) -> None:
        gathered, self._gathered = self._gathered, []
        if not gathered:
            return
        if len(gathered) > 1:
            records = [record for outcome, _ in gathered for record in outcome.records]
            hooks = [outcome.on_replayed for outcome, _ in gathered if outcome.on_replayed is not None]
            written = self.apply(Outcome(None, records, on_replayed=partial(_call_all, hooks)))
            if not (isinstance(written.error, UnknownServerError) and self.is_active):
                written.when_done(lambda done: _answer_gathered(gathered, done.error))
                return
        # A single operation, or a batch that is too large.
        for outcome, answer in gathered:
            self.apply(outcome).when_done(answer.settle_as)

    def _run_operation(self, operation: Callable[[S], Outcome[T]]) -> Outcome[T]:
        self.check_active()
        try:
            return operation(self.shard)
        except KafkaError:
            raise
        except Exception as error:
            logger.exception("Unexpected error in an operation on %s", self.log.topic_partition)
            raise UnknownServerError(f"{type(error).__name__}: {error}") from error

    def read(self, operation: Callable[[S], T]) -> Deferred[T]:
        return self.write(lambda shard: Outcome(operation(shard)))

    def apply(self, outcome: Outcome[T]) -> Deferred[T]:
        """Write the records of an outcome, and give its answer when they are committed."""
        try:
            if outcome.records:
                self._last = self.log.append(
                    outcome.records, is_atomic=outcome.is_atomic, producer=outcome.producer
                )
        except KafkaError as error:
            return self._failed_to_write(outcome, error)
        if outcome.records and not self._replay(outcome):
            return _not_written(outcome, UnknownServerError("the records could not be replayed"))
        last = self._last
        if last is None or not self.log.must_wait(last):
            self._last = None
            return _written(outcome)
        return self._answer_when_committed(outcome, last)

    def _replay(self, outcome: Outcome[Any]) -> bool:
        replay: Callable[[Any], None] = self.shard.replay
        producer = outcome.producer
        if producer is not None:
            replay = partial(cast(TransactionalShard, self.shard).replay, producer_id=producer.producer_id)
        try:
            for record in outcome.records:
                replay(record)
            if outcome.on_replayed is not None:
                outcome.on_replayed()
        except Exception:
            logger.exception("%s cannot replay its own records. It is reloaded.", self.log.topic_partition)
            self.close(NotCoordinator("The coordinator is being reloaded"))
            self._on_broken()
            return False
        return True

    def _answer_when_committed(self, outcome: Outcome[T], last: AppendInfo) -> Deferred[T]:
        timers = self.shard.timers
        uncommitted = _Uncommitted(outcome, timers.now_ms() + self._commit_timeout_ms)
        self._uncommitted[uncommitted] = None
        timers.schedule_if_absent(_COMMIT_TIMEOUT, self._commit_timeout_ms, self._time_out_commits)
        self.log.when_acknowledged(last).when_done(
            lambda done: self._on_acknowledged(uncommitted, done.error)
        )
        return uncommitted.answer

    def _on_acknowledged(self, uncommitted: _Uncommitted[Any], error: KafkaError | None) -> None:
        if self._uncommitted.pop(uncommitted, _ABSENT) is _ABSENT:
            return  # It has timed out, or the shard is closed.
        outcome = uncommitted.outcome
        result = _written(outcome) if error is None else self._failed_to_write(outcome, error)
        result.when_done(uncommitted.answer.settle_as)

    def _failed_to_write(self, outcome: Outcome[T], error: KafkaError) -> Deferred[T]:
        if isinstance(error, (NotLeaderOrFollower, StorageError)) and not isinstance(error, StorageBusy):
            self.close(NotCoordinator(error.message))
        return _not_written(outcome, _as_coordinator(error))

    def _time_out_commits(self) -> None:
        now_ms = self.shard.timers.now_ms()
        error = RequestTimedOut(f"the records were not committed within {self._commit_timeout_ms} ms")
        for each in self._take_uncommitted(now_ms):
            _not_written(each.outcome, _as_coordinator(error)).when_done(each.answer.settle_as)
        if self._uncommitted and self.is_active:
            delay_ms = next(iter(self._uncommitted)).deadline_ms - now_ms
            self.shard.timers.schedule_if_absent(_COMMIT_TIMEOUT, delay_ms, self._time_out_commits)

    def _take_uncommitted(self, until_ms: float = inf) -> list[_Uncommitted[Any]]:
        taken = [each for each in self._uncommitted if each.deadline_ms <= until_ms]
        for each in taken:
            del self._uncommitted[each]
        return taken

    # --- deadlines ---------------------------------------------------------------------------------------

    def run_due(self) -> None:
        """Run the deadlines that are due. A deadline whose records cannot be written is retried."""
        self.write_gathered()
        for key, action in self.shard.timers.due():
            self._run(key, action)

    def _run(self, key: Key, action: Action) -> None:
        if not self.is_active:
            return
        try:
            outcome = action()
        except Exception:
            logger.exception("Unexpected error in deadline %s of %s", key, self.log.topic_partition)
            return
        if outcome is None:
            return
        written = self.apply(outcome)
        if written.is_done and written.error is not None and self.is_active:
            logger.warning(
                "Cannot write the records of deadline %s of %s; it is retried in %d ms: %s",
                key[0],
                self.log.topic_partition,
                RETRY_MS,
                written.error,
            )
            self.shard.timers.schedule_if_absent(key, RETRY_MS, action)


def _written(outcome: Outcome[T]) -> Deferred[T]:
    if outcome.written is not None:
        outcome.written.complete(None)
    response = outcome.response
    return response if isinstance(response, Deferred) else Deferred.of(response)


def _not_written(outcome: Outcome[T], error: KafkaError) -> Deferred[T]:
    if outcome.written is not None:
        outcome.written.fail(error)
    response = outcome.response
    if not isinstance(response, Deferred):
        return Deferred.failed(error)
    if not response.is_done:
        response.fail(error)
    return response


def _answer_gathered(gathered: list[tuple[Outcome[Any], Deferred[Any]]], error: KafkaError | None) -> None:
    for outcome, answer in gathered:
        if error is not None:
            _not_written(outcome, error).when_done(answer.settle_as)
        elif outcome.written is None and not isinstance(outcome.response, Deferred):
            answer.complete(outcome.response)
        else:
            _written(outcome).when_done(answer.settle_as)


def _call_all(hooks: list[Callable[[], None]]) -> None:
    for hook in hooks:
        hook()


_NOT_AVAILABLE = (
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    RequestTimedOut,
    StorageBusy,
    UnknownTopicOrPartition,
)


def _as_coordinator(error: KafkaError) -> KafkaError:
    """Translate an error of the partition to the coordinator error that clients expect."""
    if isinstance(error, _NOT_AVAILABLE):
        return CoordinatorNotAvailable(error.message)
    if isinstance(error, (NotLeaderOrFollower, StorageError)):
        return NotCoordinator(error.message)
    if isinstance(error, (MessageTooLarge, RecordListTooLarge)):
        return UnknownServerError(error.message)
    return error
