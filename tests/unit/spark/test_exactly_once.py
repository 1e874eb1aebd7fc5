"""The protocol against a coordinator in memory: whatever dies, and whenever, every row is there once.

A "run" is one life of a driver: it runs batches from the first that Spark has no commit file for, writes the
tasks one after the other, commits, and notes the batch. A crash ends the run; the next one goes on.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.spark.coordinator_fake import Died, FakeCluster, FakeProducer

from barnabas.client.errors import BrokerError, Unreachable
from barnabas.spark.decisions import Owner
from barnabas.spark.exactly_once import (
    BatchTask,
    ExpiredTransaction,
    Outcome,
    abort_all,
    commit_all,
    write_once,
)
from barnabas.spark.lineage import Lineage, StaleBatch
from barnabas.spark.sink_identity import SinkIdentity

SINK = SinkIdentity("spark-sink", "q", "out")
VERSIONS = pytest.mark.parametrize("version", [1, 2])
TASKS = (2, 3, 1)
"""Of each batch: more, and then less."""


def rows_of(batch: int, task: int) -> list[str]:
    return [f"{batch}/{task}/{row}" for row in range(2 if (batch + task) % 4 else 1)]


EXPECTED = sorted(
    row for batch, tasks in enumerate(TASKS) for task in range(tasks) for row in rows_of(batch, task)
)


def attempt(
    cluster: FakeCluster,
    batch: int,
    task: int,
    topic: str = "out",
    rows: list[str] | None = None,
    lineage: Lineage | None = None,
) -> Outcome:
    which = BatchTask(SINK, batch, task, lineage or Lineage())
    producer = FakeProducer(cluster, which.transactional_id, topic)
    given = rows_of(batch, task) if rows is None else rows
    return write_once(which, iter(given), producer, cluster, producer.write)


RowsOfLife = Callable[[int, int, int], list[str]]
"""Of a batch and a task, in a life of the driver."""


def the_same(batch: int, task: int, life: int) -> list[str]:
    return rows_of(batch, task) if task < TASKS[batch] else []


def others_each_time(batch: int, task: int, life: int) -> list[str]:
    """Another number of rows, in other tasks, with other contents; sometimes none."""
    return [f"{batch}/{task}/{life}.{row}" for row in range((batch + 2 * task + life) % 3)]


def run(cluster: FakeCluster, done: int, rows: RowsOfLife, life: int) -> Iterator[int]:
    """Batches as Spark runs them; yields after each commit, before it has been noted."""
    for batch in range(done, len(TASKS)):
        outcomes = [attempt(cluster, batch, task, rows=rows(batch, task, life)) for task in range(3)]
        commit_all(outcomes, batch, cluster)
        yield batch + 1


def run_to_the_end(cluster: FakeCluster, lives: int = 10, rows: RowsOfLife = the_same) -> int:
    done = deaths = 0
    for life in range(lives):
        try:
            for noted in run(cluster, done, rows, life):
                step = cluster.before()  # the commit file of Spark
                done = noted
                cluster.after(step)
        except Died:
            deaths += 1
            cluster.is_caller_dead = False
            continue
        return deaths
    raise AssertionError("the query did not come to an end")


def die_between_commits(cluster: FakeCluster, outcomes: list[Outcome], commits: int) -> None:
    cluster.commits_left = commits
    with pytest.raises(Died):
        commit_all(outcomes, 0, cluster)
    cluster.is_caller_dead = False


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
def test_a_query_with_other_rows_each_time_has_the_rows_of_one_run_of_each_batch(version: int) -> None:
    steps = range(1, steps_of_a_quiet_run() + 12)
    for first, second in itertools.combinations(steps, 2):
        cluster = FakeCluster(version, {first: "after", second: "before"})
        run_to_the_end(cluster, rows=others_each_time)
        for batch in range(len(TASKS)):
            found = sorted(row for row in cluster.visible if row.startswith(f"{batch}/"))
            runs = [
                sorted(row for task in range(3) for row in others_each_time(batch, task, life))
                for life in range(3)
            ]
            assert found in runs, (first, second, batch)


@VERSIONS
def test_what_was_decided_and_timed_out_is_written_again(version: int) -> None:
    cluster = FakeCluster(version)
    outcomes = [attempt(cluster, 0, task) for task in range(2)]
    die_between_commits(cluster, outcomes, 1)
    cluster.time_out(SINK.transactional_id(1))
    run_to_the_end(cluster)
    assert sorted(cluster.visible) == EXPECTED


@VERSIONS
def test_a_decision_that_timed_out_is_not_binding(version: int) -> None:
    cluster = FakeCluster(version)
    die_between_commits(cluster, [attempt(cluster, 0, task) for task in range(2)], 0)
    for task in range(2):
        cluster.time_out(SINK.transactional_id(task))
    rows = {task: [f"of the second run/{task}"] for task in (1, 2, 3)}
    commit_all([attempt(cluster, 0, task, rows=rows[task]) for task in rows], 0, cluster)
    assert sorted(cluster.visible) == sorted(itertools.chain(*rows.values()))


@VERSIONS
def test_an_old_driver_cannot_take_a_decision_back(version: int) -> None:
    cluster = FakeCluster(version)
    old = [attempt(cluster, 0, task) for task in range(2)]
    commit_all([attempt(cluster, 0, task) for task in range(2)], 0, cluster)
    decided = cluster.decisions[SINK.group]
    with pytest.raises(BrokerError, match="decided by another driver"):
        commit_all(old, 0, cluster)
    assert cluster.decisions[SINK.group] == decided
    commit_all([attempt(cluster, 1, task) for task in range(2)], 1, cluster)
    decided = cluster.decisions[SINK.group]
    with pytest.raises(StaleBatch, match="already has batch 1"):
        commit_all(old, 0, cluster)
    abort_all(old, 0, cluster)
    assert cluster.decisions[SINK.group] == decided


@VERSIONS
def test_a_commit_whose_response_is_lost_is_retried(version: int) -> None:
    cluster = FakeCluster(version)
    cluster.lose_answers = set(range(200))
    run_to_the_end(cluster)
    assert sorted(cluster.visible) == EXPECTED


@VERSIONS
def test_an_attempt_that_is_followed_by_another_cannot_be_committed(version: int) -> None:
    cluster = FakeCluster(version)
    first = attempt(cluster, 0, 0)
    second = attempt(cluster, 0, 0)
    with pytest.raises(ExpiredTransaction, match="another driver took over"):
        commit_all([first], 0, cluster)
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
def test_an_abort_after_half_a_commit_leaves_what_was_decided(version: int) -> None:
    cluster = FakeCluster(version)
    outcomes = [attempt(cluster, 0, task) for task in range(2)]
    die_between_commits(cluster, outcomes, 1)
    abort_all([*outcomes, None], 0, cluster)
    assert cluster.visible == rows_of(0, 0)
    assert cluster.transactions[SINK.transactional_id(1)].state == "Ongoing"
    assert attempt(cluster, 0, 1, rows=["of another run"]).is_skipped
    run_to_the_end(cluster)
    assert sorted(cluster.visible) == EXPECTED


@VERSIONS
def test_an_abort_ends_what_no_commit_will_end(version: int) -> None:
    cluster = FakeCluster(version)
    outcome = attempt(cluster, 0, 0)
    abort_all([None, outcome], 0, cluster)
    assert cluster.transactions[SINK.transactional_id(0)].state == "CompleteAbort"
    with pytest.raises(ExpiredTransaction):
        commit_all([outcome], 0, cluster)
    assert cluster.visible == []


def test_an_abort_without_a_response_is_given_up_without_an_error() -> None:
    class Unresponsive(FakeCluster):
        def end(self, transactional_id: str, owner: Owner, *, commit: bool) -> None:
            self.before()
            raise Unreachable("no broker")

    cluster = Unresponsive()
    abort_all([Outcome(1, BatchTask(SINK, 0, task), Owner(4000, 0)) for task in range(3)], 0, cluster)
    assert cluster.steps == 2


@VERSIONS
def test_a_batch_with_an_expired_transaction_is_not_decided(version: int) -> None:
    cluster = FakeCluster(version)
    outcomes = [attempt(cluster, 0, task) for task in range(2)]
    cluster.time_out(SINK.transactional_id(1))
    with pytest.raises(ExpiredTransaction, match=r"1 of its 2 transactions are over .*timeout\.ms"):
        commit_all(outcomes, 0, cluster)
    assert (cluster.decisions, cluster.visible) == ({}, [])
    abort_all(outcomes, 0, cluster)
    commit_all([attempt(cluster, 0, task, rows=[f"again/{task}"]) for task in range(2)], 0, cluster)
    assert sorted(cluster.visible) == ["again/0", "again/1"]


def test_a_task_without_rows_sends_no_request() -> None:
    cluster = FakeCluster()
    task = BatchTask(SINK, 0, 0)
    producer = FakeProducer(cluster, task.transactional_id)
    outcome = write_once(task, iter(()), producer, cluster, producer.write)
    assert (outcome.rows, outcome.owner, cluster.steps) == (0, None, 0)
    commit_all([outcome], 0, cluster)
    assert cluster.decisions == {}


def test_a_skipped_batch_is_not_drained() -> None:
    cluster = FakeCluster()
    commit_all([attempt(cluster, 0, 0)], 0, cluster)
    task = BatchTask(SINK, 0, 0)
    producer = FakeProducer(cluster, task.transactional_id)
    rows = iter(["first", "second", "third"])
    assert write_once(task, rows, producer, cluster, producer.write).is_skipped
    assert list(rows) == ["second", "third"]


def test_a_write_that_fails_leaves_no_transaction_open() -> None:
    cluster = FakeCluster()
    task = BatchTask(SINK, 0, 0)
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
    assert cluster.groups[SINK.transactional_id(0)] == {("a", 0): 3, ("b", 0): 2}
    assert attempt(cluster, 2, 0, "b").is_skipped
    cluster.decisions.clear()  # as after the deletion of the topic that they were offsets of
    assert attempt(cluster, 2, 0, "b").is_skipped
    with pytest.raises(StaleBatch, match="already has batch 2"):
        attempt(cluster, 1, 0, "b")
    assert not attempt(cluster, 3, 0, "b").is_skipped


FAILURES = (BrokerError, ExpiredTransaction, StaleBatch)


class Query(RuleBasedStateMachine):
    """Attempts, zombies, timeouts, commits that stop halfway and lives of drivers, in any order."""

    TASKS = 3

    @initialize(version=st.sampled_from([1, 2]))
    def begin(self, version: int) -> None:
        self.cluster = FakeCluster(version)
        self.batch = 0
        self.outcomes: dict[int, Outcome] = {}
        self.stalled: list[tuple[int, list[Outcome]]] = []

    @rule(task=st.integers(0, TASKS - 1))
    def write(self, task: int) -> None:
        self.outcomes[task] = attempt(self.cluster, self.batch, task)

    @rule(task=st.integers(0, TASKS - 1), back=st.integers(0, 2))
    def zombie_writes(self, task: int, back: int) -> None:
        with suppress(StaleBatch):
            attempt(self.cluster, max(self.batch - back, 0), task)

    @rule(task=st.integers(0, TASKS - 1))
    def transaction_times_out(self, task: int) -> None:
        self.cluster.time_out(SINK.transactional_id(task))

    @precondition(lambda self: len(self.outcomes) == Query.TASKS)
    @rule()
    def driver_stalls(self) -> None:
        """Another one begins the batch anew; this one has not heard of it."""
        self.stalled.append((self.batch, self._reported()))

    @precondition(lambda self: self.stalled)
    @rule(commit=st.booleans())
    def stalled_driver_goes_on(self, commit: bool) -> None:
        batch, outcomes = self.stalled.pop()
        if commit:
            try:
                commit_all(outcomes, batch, self.cluster)
            except FAILURES:
                commit = False
        if not commit:
            abort_all(outcomes, batch, self.cluster)

    @precondition(lambda self: len(self.outcomes) == Query.TASKS)
    @rule(how_many=st.integers(0, TASKS), is_aborted=st.booleans())
    def driver_dies_in_commit(self, how_many: int, is_aborted: bool) -> None:
        outcomes = self._reported()
        self.cluster.commits_left = how_many
        try:
            commit_all(outcomes, self.batch, self.cluster)
        except Died:
            self.cluster.is_caller_dead = False
        except FAILURES:
            is_aborted = True
        self.cluster.commits_left = None
        if is_aborted:
            abort_all(outcomes, self.batch, self.cluster)

    @precondition(lambda self: len(self.outcomes) == Query.TASKS)
    @rule()
    def commit(self) -> None:
        outcomes = self._reported()
        try:
            commit_all(outcomes, self.batch, self.cluster)
        except FAILURES:
            abort_all(outcomes, self.batch, self.cluster)
        else:
            self.batch += 1

    def _reported(self) -> list[Outcome]:
        outcomes = [self.outcomes[task] for task in sorted(self.outcomes)]
        self.outcomes = {}
        return outcomes

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
