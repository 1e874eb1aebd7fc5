from collections.abc import Callable, Sequence
from typing import Any

import pytest

from barnabas.base.clock import ManualClock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    MessageTooLarge,
    NonEmptyGroup,
    NotCoordinator,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    StorageBusy,
    StorageError,
    UnknownServerError,
)
from barnabas.base.ids import TopicPartition
from barnabas.runtime.alarm import Alarm
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.runtime.outcome import Outcome, TransactionalProducer, written
from barnabas.runtime.timers import Timers
from barnabas.storage.append_info import AppendInfo


class Tally:
    """A shard that counts: its records are numbers, its state is their sum."""

    def __init__(self, clock: ManualClock) -> None:
        self.timers: Timers = Timers(clock)
        self.total: int = 0
        self.events: list[str] = []

    def replay(self, record: int) -> None:
        if record < 0:
            raise ValueError("a number that cannot be counted")
        self.total += record

    def on_loaded(self) -> None:
        self.events.append("loaded")

    def on_unloaded(self, error: KafkaError) -> None:
        self.events.append(f"unloaded: {error.code.name}")

    def add(self, number: int) -> Outcome[str]:
        return Outcome(f"{self.total + number}", [number])


class MemoryLog:
    """Appends at once. While it `holds`, records are not committed until `commit`."""

    def __init__(self) -> None:
        self.topic_partition: TopicPartition = TopicPartition("__consumer_offsets", 3)
        self.batches: list[list[Any]] = []
        self.is_current: bool = True
        self.holds: bool = False
        self.refusal: KafkaError | None = None
        self._waiting: list[Deferred[None]] = []
        self._committed: int = -1

    def append(
        self, records: Sequence[Any], *, is_atomic: bool, producer: TransactionalProducer | None = None
    ) -> AppendInfo:
        if self.refusal is not None:
            raise self.refusal
        self.batches.append(list(records))
        if not self.holds:
            self._committed = len(self.batches)
        return AppendInfo(len(self.batches), len(self.batches), -1, 0)

    def must_wait(self, appended: AppendInfo) -> bool:
        return appended.last_offset > self._committed

    def when_acknowledged(self, appended: AppendInfo) -> Deferred[None]:
        acknowledged: Deferred[None] = Deferred()
        self._waiting.append(acknowledged)
        return acknowledged

    def commit(self, error: KafkaError | None = None) -> None:
        self._committed = len(self.batches)
        waiting, self._waiting = self._waiting, []
        for acknowledged in waiting:
            if error is None:
                acknowledged.complete(None)
            else:
                acknowledged.fail(error)


class Bell:
    """`loop.call_later` without a loop: records the delay and the callback."""

    def __init__(self) -> None:
        self.delay: float | None = None
        self.ring: Callable[[], None] | None = None

    def call_later(self, delay: float, ring: Callable[[], None]) -> "Bell":
        self.delay, self.ring = delay, ring
        return self

    def cancel(self) -> None:
        self.delay = self.ring = None


class Harness:
    def __init__(self) -> None:
        self.clock: ManualClock = ManualClock()
        self.shard: Tally = Tally(self.clock)
        self.log: MemoryLog = MemoryLog()
        self.bell: Bell = Bell()
        self.broken: int = 0
        self.turn: list[Callable[[], None]] = []
        """Callbacks that run when the loop's turn ends."""
        self.hosted: HostedShard[Tally] = HostedShard(
            self.shard, self.log, Alarm(self.bell.call_later), self.turn.append, self._on_broken
        )

    def _on_broken(self) -> None:
        self.broken += 1

    def add(self, number: int) -> Deferred[str]:
        return self.hosted.write(lambda shard: shard.add(number))

    def gather(self, number: int) -> Deferred[str]:
        return self.hosted.gather(lambda shard: shard.add(number))

    def end_turn(self) -> None:
        turn, self.turn[:] = list(self.turn), []
        for each in turn:
            each()


@pytest.fixture
def harness() -> Harness:
    harness = Harness()
    harness.hosted.activate()
    return harness


def error_of(answer: Deferred[Any]) -> type[KafkaError]:
    assert answer.error is not None
    return type(answer.error)


def test_a_write_is_appended_replayed_and_answered(harness: Harness) -> None:
    assert harness.add(2).result() == "2"
    assert harness.add(3).result() == "5"
    assert harness.log.batches == [[2], [3]]
    assert harness.shard.total == 5


def test_an_answer_waits_until_its_records_are_committed(harness: Harness) -> None:
    harness.log.holds = True
    answer = harness.add(2)
    assert harness.shard.total == 2
    assert not answer.is_done
    harness.log.commit()
    assert answer.result() == "2"


def test_a_read_waits_for_what_it_may_have_seen(harness: Harness) -> None:
    harness.log.holds = True
    harness.add(2)
    seen = harness.hosted.read(lambda shard: shard.total)
    assert not seen.is_done
    harness.log.commit()
    assert seen.result() == 2
    assert harness.hosted.read(lambda shard: shard.total).is_done


def test_soft_state_follows_the_replay_and_nothing_follows_a_failed_append(harness: Harness) -> None:
    totals: list[int] = []

    def write(number: int, *, gathers: bool) -> Deferred[str]:
        run = harness.hosted.gather if gathers else harness.hosted.write
        return run(lambda shard: Outcome("added", [number], on_replayed=lambda: totals.append(shard.total)))

    harness.log.holds = True
    answer = write(5, gathers=False)
    assert totals == [5]
    assert not answer.is_done
    write(1, gathers=True)
    write(2, gathers=True)
    harness.hosted.write_gathered()
    assert totals == [5, 8, 8]
    harness.log.refusal = NotEnoughReplicas("one of two")
    write(1, gathers=False)
    assert totals == [5, 8, 8]


def test_a_failed_append_changes_nothing_and_is_a_coordinator_error(harness: Harness) -> None:
    errors: list[KafkaError | None] = []
    harness.log.refusal = NotEnoughReplicas("one of two")
    reported = written(lambda done: errors.append(done.error))
    answer = harness.hosted.write(lambda shard: Outcome("never", [1], written=reported))
    assert error_of(answer) is CoordinatorNotAvailable
    assert [type(error) for error in errors] == [CoordinatorNotAvailable]
    assert harness.shard.total == 0


def test_a_parked_answer_is_failed_when_its_records_cannot_be_written(harness: Harness) -> None:
    parked: Deferred[str] = Deferred()
    harness.log.refusal = NotLeaderOrFollower("moved")
    outcome: Outcome[str] = Outcome(parked, [1])
    answer = harness.hosted.write(lambda shard: outcome)
    assert answer is parked
    assert error_of(parked) is NotCoordinator


def test_records_that_are_lost_before_they_are_committed_fail_their_answer(harness: Harness) -> None:
    harness.log.holds = True
    answer = harness.add(2)
    harness.log.commit(NotLeaderOrFollower("moved"))
    assert error_of(answer) is NotCoordinator


def test_what_an_operation_raises_is_its_answer(harness: Harness) -> None:
    def refuse(shard: Tally) -> Outcome[str]:
        raise NonEmptyGroup("the group has members")

    def fail(shard: Tally) -> Outcome[str]:
        raise ZeroDivisionError("unexpected error")

    assert error_of(harness.hosted.write(refuse)) is NonEmptyGroup
    assert error_of(harness.hosted.write(fail)) is UnknownServerError


def test_a_shard_that_is_loading_fails_with_a_retriable_error() -> None:
    harness = Harness()
    assert error_of(harness.add(1)) is CoordinatorLoadInProgress
    harness.hosted.activate()
    assert harness.shard.events == ["loaded"]
    assert harness.add(1).result() == "1"


def test_a_closed_shard_is_no_coordinator_and_fails_waiting_requests(harness: Harness) -> None:
    harness.shard.timers.schedule(("late",), 10, lambda: None)
    harness.hosted.close(NotCoordinator("moved"))
    harness.hosted.close(NotCoordinator("moved again"))
    assert harness.shard.events == ["loaded", "unloaded: not_coordinator"]
    assert error_of(harness.add(1)) is NotCoordinator
    assert harness.bell.ring is None


def test_a_record_that_cannot_be_replayed_closes_the_shard_and_reloads_it(harness: Harness) -> None:
    assert error_of(harness.add(-1)) is UnknownServerError
    assert harness.broken == 1
    assert error_of(harness.add(1)) is NotCoordinator


def test_a_due_deadline_runs_and_its_records_are_written(harness: Harness) -> None:
    harness.shard.timers.schedule(("add",), 100, lambda: harness.shard.add(4))
    assert harness.bell.delay == pytest.approx(0.101)
    harness.clock.advance(101)
    ring, harness.bell.ring = harness.bell.ring, None
    assert ring is not None
    ring()
    assert harness.shard.total == 4
    assert harness.bell.ring is None


def test_an_earlier_deadline_runs_earlier(harness: Harness) -> None:
    harness.shard.timers.schedule(("late",), 100, lambda: None)
    harness.shard.timers.schedule(("soon",), 10, lambda: None)
    assert harness.bell.delay == pytest.approx(0.011)


def test_a_deadline_whose_records_cannot_be_written_is_retried(harness: Harness) -> None:
    harness.log.refusal = NotEnoughReplicas("one of two")
    harness.shard.timers.schedule(("add",), 100, lambda: harness.shard.add(4))
    harness.clock.advance(100)
    harness.hosted.run_due()
    assert harness.shard.total == 0
    harness.log.refusal = None
    harness.clock.advance(500)
    harness.hosted.run_due()
    assert harness.shard.total == 4


def test_a_deadline_that_fails_does_not_stop_the_others(harness: Harness) -> None:
    def fail() -> None:
        raise ZeroDivisionError("unexpected error")

    harness.shard.timers.schedule(("bad",), 10, fail)
    harness.shard.timers.schedule(("good",), 20, lambda: harness.shard.add(1))
    harness.clock.advance(20)
    harness.hosted.run_due()
    assert harness.shard.total == 1


def test_gathered_writes_share_a_batch_at_the_end_of_the_turn(harness: Harness) -> None:
    answers = [harness.gather(number) for number in (1, 2, 3)]
    assert not any(answer.is_done for answer in answers)
    harness.end_turn()
    assert harness.log.batches == [[1, 2, 3]]
    assert harness.shard.total == 6
    assert [answer.result() for answer in answers] == ["1", "2", "3"]


def test_gathered_writes_come_before_anything_else_that_happens_to_the_shard(harness: Harness) -> None:
    first = harness.gather(1)
    assert harness.hosted.read(lambda shard: shard.total).result() == 1
    assert first.is_done
    harness.gather(2)
    assert harness.add(3).result() == "6"
    harness.gather(4)
    harness.shard.timers.schedule(("add",), 0, lambda: harness.shard.add(5))
    harness.hosted.run_due()
    harness.gather(6)
    harness.hosted.close(NotCoordinator("moved"))
    assert harness.log.batches == [[1], [2], [3], [4], [5], [6]]


def test_gathered_writes_that_do_not_fit_together_are_written_one_by_one(harness: Harness) -> None:
    real = harness.log.append

    def small_batches_only(
        records: Sequence[Any], *, is_atomic: bool, producer: TransactionalProducer | None = None
    ) -> AppendInfo:
        if len(records) > 1:
            raise MessageTooLarge("more than one")
        return real(records, is_atomic=is_atomic)

    harness.log.append = small_batches_only  # type: ignore[method-assign]
    answers = [harness.gather(1), harness.gather(2)]
    harness.end_turn()
    assert harness.log.batches == [[1], [2]]
    assert all(answer.error is None for answer in answers)


def test_gathered_writes_wait_together_until_they_are_committed(harness: Harness) -> None:
    harness.log.holds = True
    answers = [harness.gather(1), harness.gather(2)]
    harness.end_turn()
    assert not any(answer.is_done for answer in answers)
    harness.log.commit()
    assert all(answer.error is None for answer in answers)


def test_gathered_writes_fail_together_when_the_log_refuses(harness: Harness) -> None:
    answers = [harness.gather(1), harness.gather(2)]
    harness.log.refusal = NotEnoughReplicas("one of two")
    harness.end_turn()
    assert [error_of(answer) for answer in answers] == [CoordinatorNotAvailable] * 2
    assert harness.shard.total == 0


def test_what_a_gathered_operation_raises_is_its_own_answer(harness: Harness) -> None:
    def refuse(shard: Tally) -> Outcome[str]:
        raise NonEmptyGroup("the group has members")

    good = harness.gather(1)
    assert error_of(harness.hosted.gather(refuse)) is NonEmptyGroup
    harness.end_turn()
    assert good.result() == "1"


# --- a disk that fails --------------------------------------------------------------------------------------


def test_shard_is_no_coordinator_when_its_disk_has_failed(harness: Harness) -> None:
    harness.shard.timers.schedule(("key",), 10, lambda: harness.shard.add(1))
    harness.log.refusal = StorageError("no space left")
    assert isinstance(harness.add(1).error, NotCoordinator)
    harness.log.refusal = None
    assert isinstance(harness.hosted.read(lambda shard: shard.total).error, NotCoordinator)
    assert harness.shard.events == ["loaded", "unloaded: not_coordinator"]
    assert (harness.bell.ring, harness.broken) == (None, 0)


def test_shard_works_on_when_its_storage_was_only_busy(harness: Harness) -> None:
    harness.log.refusal = StorageBusy("no file descriptor is left")
    assert isinstance(harness.add(1).error, CoordinatorNotAvailable)
    harness.log.refusal = None
    assert harness.add(1).error is None


def test_records_that_a_disk_has_lost_after_the_append_close_the_shard(harness: Harness) -> None:
    harness.log.holds = True
    answer = harness.add(1)
    harness.log.commit(StorageError("fsync failed"))
    assert isinstance(answer.error, NotCoordinator)
    assert isinstance(harness.add(1).error, NotCoordinator)


def test_gathered_operations_that_find_the_disk_failed_close_the_shard_once(harness: Harness) -> None:
    answers = [harness.gather(1), harness.gather(2)]
    harness.log.refusal = StorageError("no space left")
    harness.hosted.close(NotCoordinator("given up"))
    assert all(isinstance(answer.error, NotCoordinator) for answer in answers)
    assert harness.shard.events == ["loaded", "unloaded: not_coordinator"]
