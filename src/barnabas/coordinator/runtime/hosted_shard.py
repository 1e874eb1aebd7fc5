"""One shard on the partition whose log it is: loading, active, or closed.

Owns the order of things: an operation looks at the shard, its records are appended, the shard replays them,
and the answer is told when they are committed. All of it happens in one call on the event loop, so no other
operation comes between looking and replaying; only operations that do not mind each other (commits of
offsets) are gathered for the rest of the loop's turn, and written before anything else happens to the shard.
A read is told once everything it may have seen is committed. When the partition's leadership is lost, or an
own record cannot be replayed, the shard is thrown away: what counts is in the log. When the disk of the log
fails there is no coordinator here any more, also for those who only look: what they saw would not come true.
"""

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    MessageTooLarge,
    NotCoordinator,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    RecordListTooLarge,
    RequestTimedOut,
    StorageBusy,
    StorageError,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from barnabas.base.ids import TopicPartition
from barnabas.coordinator.outcome import Outcome, TransactionalProducer
from barnabas.coordinator.runtime.alarm import Alarm, CallSoon
from barnabas.coordinator.timers import Action, Key, Timers
from barnabas.storage.append_info import AppendInfo

logger = logging.getLogger("coordinator")

T = TypeVar("T")
MOST_GATHERED = 200
RETRY_MS = 500
"""A deadline whose records could not be written is tried again after this long."""


class Shard(Protocol):
    timers: Timers

    def replay(self, record: Any) -> None: ...

    def on_loaded(self) -> None: ...

    def on_unloaded(self, error: KafkaError) -> None:
        """Answer everybody who waits, with `error`; nothing else will happen to this shard."""
        ...


class TransactionalShard(Shard, Protocol):
    """A shard that has outcomes with a producer replays their records as that producer's."""

    def replay(self, record: Any, *, producer_id: int = -1) -> None: ...


S = TypeVar("S", bound=Shard)


class ShardLog(Protocol):
    """What a shard needs of its partition (`runtime.partition_log`)."""

    topic_partition: TopicPartition

    def append(
        self, records: Sequence[Any], *, is_atomic: bool, producer: TransactionalProducer | None = None
    ) -> AppendInfo: ...

    def must_wait(self, appended: AppendInfo) -> bool: ...

    def when_acknowledged(
        self, appended: AppendInfo, callback: Callable[[KafkaError | None], None]
    ) -> None: ...


class ShardState(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    CLOSED = "closed"


class HostedShard(Generic[S]):
    def __init__(
        self, shard: S, log: ShardLog, alarm: Alarm, call_soon: CallSoon, on_broken: Callable[[], None]
    ) -> None:
        self.shard: S = shard
        self.log: ShardLog = log
        self.state: ShardState = ShardState.LOADING
        self._gathered: list[tuple[Outcome[Any], Deferred[Any]]] = []
        self._call_soon: CallSoon = call_soon
        self._on_broken: Callable[[], None] = on_broken
        self._alarm: Alarm = alarm
        self._last: AppendInfo | None = None
        alarm.watch(shard.timers, self.run_due)

    # --- coming and going --------------------------------------------------------------------------------

    def activate(self) -> None:
        """The shard has replayed its log. What it finds undone there it may want to do at once."""
        self.state = ShardState.ACTIVE
        self.shard.on_loaded()
        self._alarm.reset()

    def close(self, error: KafkaError) -> None:
        if self.state is ShardState.CLOSED:
            return
        self.write_gathered()
        if self._is_closed:
            return  # by what was gathered: it could not be written
        self.state = ShardState.CLOSED
        self._alarm.stop()
        self.shard.on_unloaded(error)
        self.shard.timers.clear()

    @property
    def _is_closed(self) -> bool:
        return self.state is ShardState.CLOSED

    @property
    def is_active(self) -> bool:
        return self.state is ShardState.ACTIVE

    def check_active(self) -> None:
        if self.state is ShardState.LOADING:
            raise CoordinatorLoadInProgress("The coordinator is loading")
        if self.state is ShardState.CLOSED:
            raise NotCoordinator("This is not the coordinator any more")

    # --- operations --------------------------------------------------------------------------------------

    def write(self, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """Never raises: an error is the answer."""
        if self._gathered:
            self.write_gathered()
        try:
            outcome = self._ask(operation)
        except KafkaError as error:
            return _failed(error)
        return self.apply(outcome)

    def gather(self, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """Like `write`, in one batch with others of the loop's turn: they do not see each other's records."""
        try:
            outcome = self._ask(operation)
        except KafkaError as error:
            return _failed(error)
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
            written = self.apply(Outcome(None, records))
            if not (isinstance(written.error, UnknownServerError) and self.is_active):
                written.when_done(lambda done: self._tell_gathered(gathered, done.error))
                return
        # Alone, or too large together.
        for outcome, answer in gathered:
            _pass_on(self.apply(outcome), answer)

    def _tell_gathered(
        self, gathered: list[tuple[Outcome[Any], Deferred[Any]]], error: KafkaError | None
    ) -> None:
        for outcome, answer in gathered:
            if error is not None:
                _pass_on(self._not_written(outcome, error), answer)
            elif outcome.on_written is None and not isinstance(outcome.response, Deferred):
                answer.complete(outcome.response)
            else:
                _pass_on(_tell(outcome), answer)

    def _ask(self, operation: Callable[[S], Outcome[T]]) -> Outcome[T]:
        self.check_active()
        try:
            return operation(self.shard)
        except KafkaError:
            raise
        except Exception as error:
            logger.exception("An operation on %s failed in a way nobody foresaw", self.log.topic_partition)
            raise UnknownServerError(f"{type(error).__name__}: {error}") from error

    def read(self, operation: Callable[[S], T]) -> Deferred[T]:
        return self.write(lambda shard: Outcome(operation(shard)))

    def apply(self, outcome: Outcome[T]) -> Deferred[T]:
        """Write the records of an outcome, and tell its answer when they are committed."""
        try:
            if outcome.records:
                self._last = self.log.append(
                    outcome.records, is_atomic=outcome.is_atomic, producer=outcome.producer
                )
        except KafkaError as error:
            return self._failed_to_write(outcome, error)
        if outcome.records and not self._replay(outcome.records, outcome.producer):
            return self._not_written(outcome, UnknownServerError("the records could not be replayed"))
        last = self._last
        if last is None or not self.log.must_wait(last):
            self._last = None
            return _tell(outcome)
        return self._tell_later(outcome, last)

    def _replay(self, records: Sequence[Any], producer: TransactionalProducer | None) -> bool:
        replay: Callable[[Any], None] = self.shard.replay
        if producer is not None:
            replay = partial(cast(TransactionalShard, self.shard).replay, producer_id=producer.producer_id)
        try:
            for record in records:
                replay(record)
        except Exception:
            logger.exception("%s cannot replay its own records; it is loaded anew", self.log.topic_partition)
            self.close(NotCoordinator("The coordinator is loading anew"))
            self._on_broken()
            return False
        return True

    def _tell_later(self, outcome: Outcome[T], last: AppendInfo) -> Deferred[T]:
        answer: Deferred[T] = Deferred()

        def on_acknowledged(error: KafkaError | None) -> None:
            told = _tell(outcome) if error is None else self._failed_to_write(outcome, error)
            _pass_on(told, answer)

        self.log.when_acknowledged(last, on_acknowledged)
        return answer

    def _failed_to_write(self, outcome: Outcome[T], error: KafkaError) -> Deferred[T]:
        if isinstance(error, StorageError) and not isinstance(error, StorageBusy):
            self.close(NotCoordinator(error.message))
        return self._not_written(outcome, _as_coordinator(error))

    def _not_written(self, outcome: Outcome[T], error: KafkaError) -> Deferred[T]:
        if outcome.on_written is not None:
            outcome.on_written(error)
        response = outcome.response
        if not isinstance(response, Deferred):
            return _failed(error)
        if not response.is_done:
            response.fail(error)
        return response

    # --- deadlines ---------------------------------------------------------------------------------------

    def run_due(self) -> None:
        """Do what is due; a deadline whose records cannot be written now comes again."""
        self.write_gathered()
        for key, action in self.shard.timers.due():
            self._run(key, action)

    def _run(self, key: Key, action: Action) -> None:
        if not self.is_active:
            return
        try:
            outcome = action()
        except Exception:
            logger.exception("The deadline %s of %s failed", key, self.log.topic_partition)
            return
        if outcome is None:
            return
        written = self.apply(outcome)
        if written.is_done and written.error is not None and self.is_active:
            logger.warning("%s: %s is tried again: %s", self.log.topic_partition, key[0], written.error)
            self.shard.timers.schedule_if_absent(key, RETRY_MS, action)


def _failed(error: KafkaError) -> Deferred[T]:
    answer: Deferred[T] = Deferred()
    answer.fail(error)
    return answer


def _tell(outcome: Outcome[T]) -> Deferred[T]:
    if outcome.on_written is not None:
        outcome.on_written(None)
    response = outcome.response
    return response if isinstance(response, Deferred) else Deferred.of(response)


def _pass_on(told: Deferred[T], answer: Deferred[T]) -> None:
    def on_done(done: "Deferred[T]") -> None:
        if done.error is not None:
            answer.fail(done.error)
        else:
            answer.complete(done.result())

    told.when_done(on_done)


def _as_coordinator(error: KafkaError) -> KafkaError:
    """A partition's error as members of a group understand it."""
    if isinstance(error, (NotEnoughReplicas, RequestTimedOut, StorageBusy, UnknownTopicOrPartition)):
        return CoordinatorNotAvailable(error.message)
    if isinstance(error, (NotLeaderOrFollower, StorageError)):
        return NotCoordinator(error.message)
    if isinstance(error, (MessageTooLarge, RecordListTooLarge)):
        return UnknownServerError(error.message)
    return error
