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
from barnabas.coordinator.outcome import Outcome, TransactionalProducer
from barnabas.coordinator.runtime.alarm import Alarm
from barnabas.coordinator.runtime.hosted_shard import HostedShard
from barnabas.coordinator.timers import Timers
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
    """Appends at once; what it `holds` is not committed until `commit`."""

    def __init__(self) -> None:
        self.topic_partition: TopicPartition = TopicPartition("__consumer_offsets", 3)
        self.batches: list[list[Any]] = []
        self.holds: bool = False
        self.refusal: KafkaError | None = None
        self._waiting: list[tuple[int, Callable[[KafkaError | None], None]]] = []
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

    def when_acknowledged(self, appended: AppendInfo, callback: Callable[[KafkaError | None], None]) -> None:
        self._waiting.append((appended.last_offset, callback))

    def commit(self, error: KafkaError | None = None) -> None:
        self._committed = len(self.batches)
        waiting, self._waiting = self._waiting, []
        for _, callback in waiting:
            callback(error)


class Bell:
    """`loop.call_later` without a loop: remembers what should be called when."""

    def __init__(self) -> None:
        self.delay: float | None = None
        self.ring: Callable[[], None] | None = None

    def call_later(self, delay: float, ring: Callable[[], None]) -> "Bell":
        self.delay, self.ring = delay, ring
        return self

    def cancel(self) -> None:
        self.delay = self.ring = None


class House:
    def __init__(self) -> None:
        self.clock: ManualClock = ManualClock()
        self.shard: Tally = Tally(self.clock)
        self.log: MemoryLog = MemoryLog()
        self.bell: Bell = Bell()
        self.broken: int = 0
        self.turn: list[Callable[[], None]] = []
        """What is called when the loop's turn ends."""
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
def house() -> House:
    house = House()
    house.hosted.activate()
    return house


def error_of(answer: Deferred[Any]) -> type[KafkaError]:
    assert answer.error is not None
    return type(answer.error)


def test_a_write_is_appended_replayed_and_told(house: House) -> None:
    assert house.add(2).result() == "2"
    assert house.add(3).result() == "5"
    assert house.log.batches == [[2], [3]]
    assert house.shard.total == 5


def test_an_answer_waits_until_its_records_are_committed(house: House) -> None:
    house.log.holds = True
    answer = house.add(2)
    assert house.shard.total == 2
    assert not answer.is_done
    house.log.commit()
    assert answer.result() == "2"


def test_a_read_waits_for_what_it_may_have_seen(house: House) -> None:
    house.log.holds = True
    house.add(2)
    seen = house.hosted.read(lambda shard: shard.total)
    assert not seen.is_done
    house.log.commit()
    assert seen.result() == 2
    assert house.hosted.read(lambda shard: shard.total).is_done


def test_a_failed_append_changes_nothing_and_is_the_coordinators_error(house: House) -> None:
    told: list[KafkaError | None] = []
    house.log.refusal = NotEnoughReplicas("one of two")
    answer = house.hosted.write(lambda shard: Outcome("never", [1], on_written=told.append))
    assert error_of(answer) is CoordinatorNotAvailable
    assert [type(error) for error in told] == [CoordinatorNotAvailable]
    assert house.shard.total == 0


def test_a_parked_answer_is_failed_when_its_records_cannot_be_written(house: House) -> None:
    parked: Deferred[str] = Deferred()
    house.log.refusal = NotLeaderOrFollower("moved")
    outcome: Outcome[str] = Outcome(parked, [1])
    answer = house.hosted.write(lambda shard: outcome)
    assert answer is parked
    assert error_of(parked) is NotCoordinator


def test_records_that_are_lost_before_they_are_committed_fail_their_answer(house: House) -> None:
    house.log.holds = True
    answer = house.add(2)
    house.log.commit(NotLeaderOrFollower("moved"))
    assert error_of(answer) is NotCoordinator


def test_what_an_operation_raises_is_its_answer(house: House) -> None:
    def refuse(shard: Tally) -> Outcome[str]:
        raise NonEmptyGroup("somebody is here")

    def stumble(shard: Tally) -> Outcome[str]:
        raise ZeroDivisionError("nobody foresaw this")

    assert error_of(house.hosted.write(refuse)) is NonEmptyGroup
    assert error_of(house.hosted.write(stumble)) is UnknownServerError


def test_a_shard_that_is_loading_asks_to_try_again() -> None:
    house = House()
    assert error_of(house.add(1)) is CoordinatorLoadInProgress
    house.hosted.activate()
    assert house.shard.events == ["loaded"]
    assert house.add(1).result() == "1"


def test_a_closed_shard_is_no_coordinator_and_tells_those_who_wait(house: House) -> None:
    house.shard.timers.schedule(("late",), 10, lambda: None)
    house.hosted.close(NotCoordinator("moved"))
    house.hosted.close(NotCoordinator("moved again"))
    assert house.shard.events == ["loaded", "unloaded: not_coordinator"]
    assert error_of(house.add(1)) is NotCoordinator
    assert house.bell.ring is None


def test_a_record_that_cannot_be_replayed_closes_the_shard_and_has_it_loaded_anew(house: House) -> None:
    assert error_of(house.add(-1)) is UnknownServerError
    assert house.broken == 1
    assert error_of(house.add(1)) is NotCoordinator


def test_a_deadline_rings_and_its_records_are_written(house: House) -> None:
    house.shard.timers.schedule(("add",), 100, lambda: house.shard.add(4))
    assert house.bell.delay == pytest.approx(0.101)
    house.clock.advance(101)
    ring, house.bell.ring = house.bell.ring, None
    assert ring is not None
    ring()
    assert house.shard.total == 4
    assert house.bell.ring is None


def test_an_earlier_deadline_rings_earlier(house: House) -> None:
    house.shard.timers.schedule(("late",), 100, lambda: None)
    house.shard.timers.schedule(("soon",), 10, lambda: None)
    assert house.bell.delay == pytest.approx(0.011)


def test_a_deadline_whose_records_cannot_be_written_comes_again(house: House) -> None:
    house.log.refusal = NotEnoughReplicas("one of two")
    house.shard.timers.schedule(("add",), 100, lambda: house.shard.add(4))
    house.clock.advance(100)
    house.hosted.run_due()
    assert house.shard.total == 0
    house.log.refusal = None
    house.clock.advance(500)
    house.hosted.run_due()
    assert house.shard.total == 4


def test_a_deadline_that_fails_does_not_stop_the_others(house: House) -> None:
    def stumble() -> None:
        raise ZeroDivisionError("nobody foresaw this")

    house.shard.timers.schedule(("bad",), 10, stumble)
    house.shard.timers.schedule(("good",), 20, lambda: house.shard.add(1))
    house.clock.advance(20)
    house.hosted.run_due()
    assert house.shard.total == 1


def test_gathered_writes_share_a_batch_at_the_end_of_the_turn(house: House) -> None:
    answers = [house.gather(number) for number in (1, 2, 3)]
    assert not any(answer.is_done for answer in answers)
    house.end_turn()
    assert house.log.batches == [[1, 2, 3]]
    assert house.shard.total == 6
    assert [answer.result() for answer in answers] == ["1", "2", "3"]


def test_gathered_writes_come_before_anything_else_that_happens_to_the_shard(house: House) -> None:
    first = house.gather(1)
    assert house.hosted.read(lambda shard: shard.total).result() == 1
    assert first.is_done
    house.gather(2)
    assert house.add(3).result() == "6"
    house.gather(4)
    house.shard.timers.schedule(("add",), 0, lambda: house.shard.add(5))
    house.hosted.run_due()
    house.gather(6)
    house.hosted.close(NotCoordinator("moved"))
    assert house.log.batches == [[1], [2], [3], [4], [5], [6]]


def test_gathered_writes_that_do_not_fit_together_are_written_one_by_one(house: House) -> None:
    real = house.log.append

    def small_batches_only(
        records: Sequence[Any], *, is_atomic: bool, producer: TransactionalProducer | None = None
    ) -> AppendInfo:
        if len(records) > 1:
            raise MessageTooLarge("more than one")
        return real(records, is_atomic=is_atomic)

    house.log.append = small_batches_only  # type: ignore[method-assign]
    answers = [house.gather(1), house.gather(2)]
    house.end_turn()
    assert house.log.batches == [[1], [2]]
    assert all(answer.error is None for answer in answers)


def test_gathered_writes_wait_together_until_they_are_committed(house: House) -> None:
    house.log.holds = True
    answers = [house.gather(1), house.gather(2)]
    house.end_turn()
    assert not any(answer.is_done for answer in answers)
    house.log.commit()
    assert all(answer.error is None for answer in answers)


def test_gathered_writes_fail_together_when_the_log_refuses(house: House) -> None:
    answers = [house.gather(1), house.gather(2)]
    house.log.refusal = NotEnoughReplicas("one of two")
    house.end_turn()
    assert [error_of(answer) for answer in answers] == [CoordinatorNotAvailable] * 2
    assert house.shard.total == 0


def test_what_a_gathered_operation_raises_is_its_own_answer(house: House) -> None:
    def refuse(shard: Tally) -> Outcome[str]:
        raise NonEmptyGroup("somebody is here")

    good = house.gather(1)
    assert error_of(house.hosted.gather(refuse)) is NonEmptyGroup
    house.end_turn()
    assert good.result() == "1"


# --- a disk that fails --------------------------------------------------------------------------------------


def test_shard_is_no_coordinator_when_its_disk_has_failed(house: House) -> None:
    house.shard.timers.schedule(("key",), 10, lambda: house.shard.add(1))
    house.log.refusal = StorageError("no space left")
    assert isinstance(house.add(1).error, NotCoordinator)
    house.log.refusal = None
    assert isinstance(house.hosted.read(lambda shard: shard.total).error, NotCoordinator)
    assert house.shard.events == ["loaded", "unloaded: not_coordinator"]
    assert (house.bell.ring, house.broken) == (None, 0)


def test_shard_works_on_when_its_storage_was_only_busy(house: House) -> None:
    house.log.refusal = StorageBusy("no file descriptor is left")
    assert isinstance(house.add(1).error, CoordinatorNotAvailable)
    house.log.refusal = None
    assert house.add(1).error is None


def test_records_that_a_disk_has_lost_after_the_append_close_the_shard(house: House) -> None:
    house.log.holds = True
    answer = house.add(1)
    house.log.commit(StorageError("fsync failed"))
    assert isinstance(answer.error, NotCoordinator)
    assert isinstance(house.add(1).error, NotCoordinator)


def test_gathered_operations_that_find_the_disk_failed_close_the_shard_once(house: House) -> None:
    answers = [house.gather(1), house.gather(2)]
    house.log.refusal = StorageError("no space left")
    house.hosted.close(NotCoordinator("given up"))
    assert all(isinstance(answer.error, NotCoordinator) for answer in answers)
    assert house.shard.events == ["loaded", "unloaded: not_coordinator"]
