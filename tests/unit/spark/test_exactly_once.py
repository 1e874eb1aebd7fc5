"""The protocol against a coordinator in memory: whatever dies, and whenever, every row is there once.

A "run" is one life of a driver: it runs batches from the first that Spark has no commit file for, writes the
tasks one after the other, commits, and notes the batch. A crash ends the run; the next one goes on.
"""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kio.schema.errors import ErrorCode
from tests.unit.spark.coordinator_fake import Died, FakeCluster, FakeProducer

from barnabas.client.errors import BrokerError, Unreachable
from barnabas.spark.exactly_once import BatchTask, Outcome, abort_all, commit_all, write_once

VERSIONS = pytest.mark.parametrize("version", [1, 2])
TASKS = (2, 3, 1)
"""Of each batch: more, and then less."""


def rows_of(batch: int, task: int) -> list[str]:
    return [f"{batch}/{task}/{row}" for row in range(2 if (batch + task) % 4 else 1)]


EXPECTED = sorted(
    row for batch, tasks in enumerate(TASKS) for task in range(tasks) for row in rows_of(batch, task)
)


def attempt(cluster: FakeCluster, batch: int, task: int, topic: str = "out") -> Outcome:
    which = BatchTask("spark-sink", "q", batch, task)
    producer = FakeProducer(cluster, which.transactional_id, topic)
    return write_once(which, iter(rows_of(batch, task)), producer, cluster, producer.write)


def run(cluster: FakeCluster, done: int, tasks: tuple[int, ...] = TASKS) -> Iterator[int]:
    """Batches as Spark runs them; yields after each commit, before it has been noted."""
    for batch in range(done, len(tasks)):
        outcomes = [attempt(cluster, batch, task) for task in range(tasks[batch])]
        commit_all(outcomes, batch, cluster)
        yield batch + 1


def run_to_the_end(cluster: FakeCluster, lives: int = 10) -> int:
    done = deaths = 0
    for _ in range(lives):
        try:
            for noted in run(cluster, done):
                step = cluster.before()  # the commit file of Spark
                done = noted
                cluster.after(step)
        except Died:
            deaths += 1
            cluster.is_caller_dead = False
            continue
        return deaths
    raise AssertionError("the query did not come to an end")


def steps_of_a_quiet_run() -> int:
    cluster = FakeCluster()
    run_to_the_end(cluster)
    return cluster.steps


@VERSIONS
def test_a_run_without_faults_writes_every_row_once(version: int) -> None:
    cluster = FakeCluster(version)
    assert run_to_the_end(cluster) == 0
    assert sorted(cluster.visible) == EXPECTED


@VERSIONS
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_any_step_loses_nothing_and_writes_nothing_twice(version: int, when: str) -> None:
    for step in range(1, steps_of_a_quiet_run() + 1):
        cluster = FakeCluster(version, {step: when})
        assert run_to_the_end(cluster) == 1, step
        assert sorted(cluster.visible) == EXPECTED, step


@VERSIONS
def test_a_second_crash_during_the_recovery_changes_nothing(version: int) -> None:
    steps = range(1, steps_of_a_quiet_run() + 12)
    for first, second in itertools.combinations(steps, 2):
        cluster = FakeCluster(version, {first: "after", second: "before"})
        run_to_the_end(cluster)
        assert sorted(cluster.visible) == EXPECTED, (first, second)


@VERSIONS
def test_answers_to_commits_that_get_lost_are_asked_for_again(version: int) -> None:
    cluster = FakeCluster(version)
    cluster.lose_answers = set(range(200))
    run_to_the_end(cluster)
    assert sorted(cluster.visible) == EXPECTED


@VERSIONS
def test_an_attempt_that_is_followed_by_another_cannot_be_committed(version: int) -> None:
    cluster = FakeCluster(version)
    first = attempt(cluster, 0, 0)
    second = attempt(cluster, 0, 0)
    with pytest.raises(BrokerError) as raised:
        commit_all([first], 0, cluster)
    assert raised.value.code == ErrorCode.producer_fenced
    commit_all([second], 0, cluster)
    assert cluster.visible == rows_of(0, 0)


@VERSIONS
def test_a_zombie_of_an_old_batch_writes_nothing(version: int) -> None:
    cluster = FakeCluster(version)
    commit_all([attempt(cluster, 0, 0)], 0, cluster)
    zombie = attempt(cluster, 0, 0)
    assert zombie.is_skipped
    commit_all([zombie], 0, cluster)
    assert cluster.visible == rows_of(0, 0)


@VERSIONS
def test_a_zombie_that_takes_over_after_the_commit_does_not_fail_it(version: int) -> None:
    cluster = FakeCluster(version)
    outcome = attempt(cluster, 0, 0)
    commit_all([outcome], 0, cluster)
    assert attempt(cluster, 0, 0).is_skipped
    commit_all([outcome], 0, cluster)  # its first answer was lost


@VERSIONS
def test_an_abort_after_half_a_commit_keeps_the_half(version: int) -> None:
    cluster = FakeCluster(version)
    outcomes = [attempt(cluster, 0, task) for task in range(2)]
    commit_all(outcomes[:1], 0, cluster)
    abort_all([*outcomes, None], cluster)
    assert cluster.visible == rows_of(0, 0)
    run_to_the_end(cluster)
    assert sorted(cluster.visible) == EXPECTED


@VERSIONS
def test_an_abort_ends_what_no_commit_will_end(version: int) -> None:
    cluster = FakeCluster(version)
    outcome = attempt(cluster, 0, 0)
    abort_all([None, outcome], cluster)
    assert cluster.transactions["spark-sink-q-0"].state == "CompleteAbort"
    with pytest.raises(BrokerError):
        commit_all([outcome], 0, cluster)
    assert cluster.visible == []


def test_an_abort_that_nobody_answers_is_given_up_without_an_error() -> None:
    class Gone(FakeCluster):
        def end(self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool) -> None:
            self.before()
            raise Unreachable("no broker")

    cluster = Gone()
    abort_all([Outcome(f"spark-sink-q-{task}", 1, 4000, 0) for task in range(3)], cluster)
    assert cluster.steps == 1


def test_a_transaction_that_timed_out_fails_the_commit() -> None:
    cluster = FakeCluster()
    outcome = attempt(cluster, 0, 0)
    cluster.time_out("spark-sink-q-0")
    with pytest.raises(BrokerError):
        commit_all([outcome], 0, cluster)
    run_to_the_end(cluster)
    assert sorted(cluster.visible) == EXPECTED


def test_a_task_without_rows_asks_for_nothing() -> None:
    cluster = FakeCluster()
    task = BatchTask("spark-sink", "q", 0, 0)
    producer = FakeProducer(cluster, task.transactional_id)
    outcome = write_once(task, iter(()), producer, cluster, producer.write)
    commit_all([outcome], 0, cluster)
    assert (outcome.rows, outcome.producer_id, cluster.steps) == (0, None, 0)


def test_a_skipped_batch_is_not_drained() -> None:
    cluster = FakeCluster()
    commit_all([attempt(cluster, 0, 0)], 0, cluster)
    task = BatchTask("spark-sink", "q", 0, 0)
    producer = FakeProducer(cluster, task.transactional_id)
    rows = iter(["first", "second", "third"])
    assert write_once(task, rows, producer, cluster, producer.write).is_skipped
    assert list(rows) == ["second", "third"]


def test_a_write_that_fails_leaves_no_transaction_open() -> None:
    cluster = FakeCluster()
    task = BatchTask("spark-sink", "q", 0, 0)
    producer = FakeProducer(cluster, task.transactional_id)

    def rows() -> Iterator[str]:
        yield "first"
        raise ValueError("a bad row")

    with pytest.raises(ValueError, match="a bad row"):
        write_once(task, rows(), producer, cluster, producer.write)
    assert cluster.transactions[task.transactional_id].state == "CompleteAbort"


def test_progress_is_the_farthest_of_all_topics_a_task_began_with() -> None:
    cluster = FakeCluster()
    commit_all([attempt(cluster, 0, 0, "a")], 0, cluster)
    commit_all([attempt(cluster, 1, 0, "b")], 1, cluster)
    commit_all([attempt(cluster, 2, 0, "a")], 2, cluster)
    assert cluster.groups["spark-sink-q-0"] == {("a", 0): 3, ("b", 0): 2}
    assert [attempt(cluster, batch, 0, "b").is_skipped for batch in range(3)] == [True] * 3
    assert not attempt(cluster, 3, 0, "b").is_skipped


class Query(RuleBasedStateMachine):
    """Attempts, zombies, timeouts, commits that stop halfway and lives of drivers, in any order."""

    TASKS = 3

    @initialize(version=st.sampled_from([1, 2]))
    def begin(self, version: int) -> None:
        self.cluster = FakeCluster(version)
        self.batch = 0
        self.outcomes: dict[int, Outcome] = {}
        self.zombies: list[tuple[int, Outcome]] = []

    @rule(task=st.integers(0, TASKS - 1))
    def write(self, task: int) -> None:
        self.outcomes[task] = attempt(self.cluster, self.batch, task)

    @rule(task=st.integers(0, TASKS - 1), back=st.integers(0, 2))
    def zombie_writes(self, task: int, back: int) -> None:
        batch = max(self.batch - back, 0)
        self.zombies.append((batch, attempt(self.cluster, batch, task)))

    @rule(task=st.integers(0, TASKS - 1))
    def transaction_times_out(self, task: int) -> None:
        self.cluster.time_out(f"spark-sink-q-{task}")

    @precondition(lambda self: self.zombies)
    @rule(commit=st.booleans())
    def zombie_driver_ends_one(self, commit: bool) -> None:
        batch, outcome = self.zombies.pop()
        if not commit:
            abort_all([outcome], self.cluster)
            return
        try:
            commit_all([outcome], batch, self.cluster)
        except BrokerError:
            return

    @precondition(lambda self: len(self.outcomes) == Query.TASKS)
    @rule(how_many=st.integers(0, TASKS), is_aborted=st.booleans())
    def driver_dies_in_commit(self, how_many: int, is_aborted: bool) -> None:
        outcomes = [self.outcomes[task] for task in sorted(self.outcomes)]
        try:
            commit_all(outcomes[:how_many], self.batch, self.cluster)
        except BrokerError:
            is_aborted = True
        if is_aborted:
            abort_all(outcomes, self.cluster)
        self.outcomes = {}

    @precondition(lambda self: len(self.outcomes) == Query.TASKS)
    @rule()
    def commit(self) -> None:
        try:
            commit_all(self.outcomes.values(), self.batch, self.cluster)
        except BrokerError:
            abort_all(self.outcomes.values(), self.cluster)
        else:
            self.batch += 1
        self.outcomes = {}

    @invariant()
    def nothing_twice(self) -> None:
        visible = self.cluster.visible if hasattr(self, "cluster") else []
        assert len(visible) == len(set(visible))

    @invariant()
    def nothing_lost(self) -> None:
        if not hasattr(self, "cluster"):
            return
        wanted = {
            row for batch in range(self.batch) for task in range(self.TASKS) for row in rows_of(batch, task)
        }
        assert wanted <= set(self.cluster.visible)


TestQuery = Query.TestCase
