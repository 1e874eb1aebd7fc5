"""Drives a shard, or a part of one, as the runtime does: append, replay, commit, answer. No loop, no disk.

    environment = shard_environment(ManualClock(), max_size=2)   # Kafka's defaults but for what is named
    driver = ShardDriver(shard, environment)                     # any shard with `replay(record)`
    answer = driver.call(shard.join, context, body)              # a Deferred: answer.result(), answer.error
    driver.advance(3_000)                                        # deadlines on the way fire, in order

`fail_next(error)` makes the next append raise; `hold_commits()` leaves records appended and replayed but not
committed until `commit()`. `records` is the log: everything that was appended.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, Protocol, TypeVar

from barnabas.base.clock import Clock, ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.group.environment import ShardEnvironment
from barnabas.group.records import TopicCommit
from barnabas.group.settings import settings_of
from barnabas.metadata.image import ClusterImage
from barnabas.runtime.outcome import Outcome
from barnabas.runtime.timers import Action, Key, Timers

T = TypeVar("T")
P = ParamSpec("P")

RETRY_MS = 500


def shard_environment(
    clock: ManualClock, image: ClusterImage | None = None, **settings: Any
) -> ShardEnvironment:
    """An environment with the configuration's defaults; `settings` are fields of `GroupSettings`."""
    return ShardEnvironment(
        clock,
        replace(settings_of(BrokerConfig.from_properties({"node.id": "1"})), **settings),
        image or ClusterImage(),
    )


class Replayable(Protocol):
    # A property, so that a shard may take any record type it likes.
    @property
    def replay(self) -> Callable[..., None]: ...


class Timed(Protocol):
    """What the driver needs of an environment; properties, so that the real ones may be narrower."""

    @property
    def clock(self) -> Clock: ...

    @property
    def timers(self) -> Timers: ...


class ShardDriver:
    def __init__(self, shard: Replayable, environment: Timed) -> None:
        self.shard: Replayable = shard
        self.environment: Timed = environment
        if not isinstance(environment.clock, ManualClock):
            raise TypeError("the clock must be one that the driver can advance")
        self.clock: ManualClock = environment.clock
        self.records: list[Any] = []
        self.fired: list[Key] = []
        """The deadlines that ran, in order."""
        self._failures: list[KafkaError] = []
        self._uncommitted: list[tuple[Outcome[Any], Deferred[Any]]] = []
        self._is_holding: bool = False

    # --- what the runtime does with a request ----------------------------------------------------------

    def call(self, function: Callable[P, Outcome[T]], *arguments: P.args, **named: P.kwargs) -> Deferred[T]:
        """Run an operation and its outcome. A raised `KafkaError` is a failed answer."""
        try:
            outcome = function(*arguments, **named)
        except KafkaError as error:
            answer: Deferred[T] = Deferred()
            answer.fail(error)
            return answer
        return self.run(outcome)

    def run(self, outcome: Outcome[T]) -> Deferred[T]:
        answer: Deferred[T] = outcome.response if isinstance(outcome.response, Deferred) else Deferred()
        if not outcome.records:
            self._settle(outcome, answer, None)
        elif self._failures:
            self._settle(outcome, answer, self._failures.pop(0))
        else:
            of_producer = {} if outcome.producer is None else {"producer_id": outcome.producer.producer_id}
            for record in outcome.records:
                self.records.extend(record.each() if isinstance(record, TopicCommit) else [record])
                self.shard.replay(record, **of_producer)
            if outcome.on_replayed is not None:
                outcome.on_replayed()
            if self._is_holding:
                self._uncommitted.append((outcome, answer))
            else:
                self._settle(outcome, answer, None)
        return answer

    def _settle(self, outcome: Outcome[T], answer: Deferred[T], error: KafkaError | None) -> None:
        if outcome.written is not None:
            if error is None:
                outcome.written.complete(None)
            else:
                outcome.written.fail(error)
        if error is not None:
            if not answer.is_done:
                answer.fail(error)
        elif not isinstance(outcome.response, Deferred):
            answer.complete(outcome.response)

    # --- what the log does -----------------------------------------------------------------------------

    def fail_next(self, error: KafkaError, times: int = 1) -> None:
        self._failures.extend([error] * times)

    def hold_commits(self) -> None:
        self._is_holding = True

    def commit(self, error: KafkaError | None = None) -> None:
        """Commit what is held, in order, and hold no more; or let it fail although it was replayed."""
        self._is_holding = False
        held, self._uncommitted = self._uncommitted, []
        for outcome, answer in held:
            self._settle(outcome, answer, error)

    # --- time ------------------------------------------------------------------------------------------

    def advance(self, ms: int) -> None:
        """Advance the clock. Deadlines run at their own time, as in the runtime."""
        timers = self.environment.timers
        end_ms = timers.now_ms() + ms
        while (next_ms := timers.next_deadline_ms()) is not None and next_ms <= end_ms:
            self.clock.advance(max(0, next_ms - timers.now_ms()))
            for key, action in timers.due():
                self._fire(key, action)
        self.clock.advance(end_ms - timers.now_ms())

    def _fire(self, key: Key, action: Action) -> None:
        self.fired.append(key)
        outcome = action()
        if outcome is not None and self.run(outcome).error is not None:
            self.environment.timers.schedule_if_absent(key, RETRY_MS, action)
