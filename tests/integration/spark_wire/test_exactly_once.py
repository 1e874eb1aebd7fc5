"""The exactly-once protocol over real connections, in both versions of transactions, on both brokers.

A crash is a driver or a task that does nothing any more: what it had open stays open.
"""

from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import pyarrow as pa
import pytest
from tests.integration.spark.records import values_of

from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import terminate_transaction
from barnabas.client.cluster import Cluster
from barnabas.spark.coordinators import ClusterCoordinators
from barnabas.spark.decisions import Decision, Owner
from barnabas.spark.exactly_once import (
    BatchTask,
    ExpiredTransaction,
    Outcome,
    abort_all,
    commit_all,
    write_once,
)
from barnabas.spark.lineage import StaleBatch
from barnabas.spark.planning.sink_columns import SinkColumns
from barnabas.spark.sink_identity import SinkIdentity
from barnabas.spark.wire import end_transaction, transaction
from barnabas.spark.wire.producer import Producer, ProduceSettings
from barnabas.spark.writing import RowWriter

COLUMNS = SinkColumns.of([("value", "string")], "named by the option")


@pytest.fixture(params=[1, 2], autouse=True)
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Of the transactions: brokers that know the second serve the first too."""
    if request.param == 1:
        for module in (end_transaction, transaction):
            monkeypatch.setattr(module, "is_version_2", lambda *_: False)
    return int(request.param)


class Query:
    def __init__(self, cluster: Cluster, servers: str, name: str) -> None:
        self.name: str = name
        self.sink: SinkIdentity = SinkIdentity("spark-sink", name, name)
        self.cluster: Cluster = cluster
        self.coordinators: ClusterCoordinators = ClusterCoordinators(cluster, 60)
        self.values = partial(values_of, servers, name)
        create_topic(cluster, name, partitions=2, replicas=1)

    def attempt(self, batch: int, task: int, *, dies: bool = False, life: str = "") -> Outcome:
        which = BatchTask(self.sink, batch, task)
        settings = ProduceSettings(transactional_id=which.transactional_id)
        with Producer(self.cluster, settings) as producer:
            writer = RowWriter(producer, COLUMNS, self.name, batch)
            rows = pa.record_batch({"value": [f"{batch}/{task}/{row}{life}" for row in range(3)]})
            if dies:
                producer.init()
                writer.write(iter([rows]))
                producer.flush()
                return Outcome(0, which)
            return write_once(which, iter([rows]), producer, self.coordinators, writer.write)

    def run(self, batch: int, *, life: str = "") -> list[Outcome]:
        return [self.attempt(batch, task, life=life) for task in range(2)]

    def die_between_commits(self, outcomes: list[Outcome], batch: int) -> None:
        """After the first of them."""

        class Died(BaseException):
            pass

        def end_once(name: str, owner: Owner, *, commit: bool) -> None:
            ClusterCoordinators.end(self.coordinators, name, owner, commit=commit)
            raise Died

        with patch.object(self.coordinators, "end", end_once), pytest.raises(Died):
            commit_all(outcomes, batch, self.coordinators)

    def expected(self, batches: int) -> list[str]:
        return [f"{batch}/{task}/{row}" for batch in range(batches) for task in range(2) for row in range(3)]


@pytest.fixture
def query(cluster: Cluster, servers: str, name: str) -> Iterator[Query]:
    found = Query(cluster, servers, name)
    yield found
    abort_all([found.attempt(1000, task) for task in range(2)], 1000, found.coordinators)


def test_batches_follow_each_other_at_once(query: Query) -> None:
    for batch in range(4):
        commit_all(query.run(batch), batch, query.coordinators)
    assert query.values() == query.expected(4)
    assert query.coordinators.next_batch(query.sink.transactional_id(0)) == 4


def test_a_batch_that_is_visible_is_skipped(query: Query) -> None:
    commit_all(query.run(0), 0, query.coordinators)
    again = query.run(0)
    assert [each.is_skipped for each in again] == [True, True]
    commit_all(again, 0, query.coordinators)
    assert query.values() == query.expected(1)


def test_a_driver_that_dies_between_two_commits(query: Query) -> None:
    query.die_between_commits(query.run(0), 0)
    assert query.values() == query.expected(1)[:3]
    again = query.run(0, life=" of another life")
    assert [each.is_skipped for each in again] == [True, True]
    commit_all(again, 0, query.coordinators)
    assert query.values() == query.expected(1)


def test_a_task_that_only_the_second_run_has_rows_for_writes_nothing(query: Query) -> None:
    query.die_between_commits(query.run(0), 0)
    more = query.attempt(0, 2)
    assert more.is_skipped
    commit_all([more], 0, query.coordinators)  # the tasks of the first run have none this time
    assert query.values() == query.expected(1)


def test_a_batch_of_too_many_tasks_is_left_undecided(query: Query) -> None:
    outcomes = query.run(0)
    group = query.sink.group
    few = Decision(0, {task: Owner(task, 1) for task in range(2)})
    query.coordinators.decide(group, query.name, few)
    assert query.coordinators.decision(group) == few
    many = Decision(0, dict.fromkeys(range(1000), Owner(4000, 1)))
    query.coordinators.decide(group, query.name, many)
    assert query.coordinators.decision(group) == Decision(0, {})
    commit_all(outcomes, 0, query.coordinators)
    assert query.values() == query.expected(1)


def test_a_task_that_dies_with_its_transaction_open(query: Query) -> None:
    query.attempt(0, 1, dies=True)
    commit_all(query.run(0), 0, query.coordinators)
    assert query.values() == query.expected(1)


def test_a_commit_whose_answer_was_lost_is_repeated(query: Query) -> None:
    outcomes = query.run(0)
    commit_all(outcomes, 0, query.coordinators)
    commit_all(outcomes, 0, query.coordinators)
    zombies = query.run(0)
    assert all(each.is_skipped for each in zombies)
    commit_all(outcomes, 0, query.coordinators)  # others have the ids by now
    assert query.values() == query.expected(1)


def test_an_attempt_that_was_followed_by_another_cannot_be_committed(query: Query) -> None:
    first, second = query.run(0), query.run(0)
    with pytest.raises(ExpiredTransaction):
        commit_all(first, 0, query.coordinators)
    abort_all(first, 0, query.coordinators)
    commit_all(second, 0, query.coordinators)
    assert query.values() == query.expected(1)


def test_an_abort_after_half_a_commit_leaves_what_was_decided(query: Query) -> None:
    outcomes = query.run(0)
    query.die_between_commits(outcomes, 0)
    abort_all(outcomes, 0, query.coordinators)
    assert query.values() == query.expected(1)[:3]
    commit_all(query.run(0), 0, query.coordinators)
    assert query.values() == query.expected(1)


def test_what_was_aborted_cannot_be_committed(query: Query) -> None:
    outcomes = query.run(0)
    abort_all(outcomes, 0, query.coordinators)
    with pytest.raises(ExpiredTransaction):
        commit_all(outcomes, 0, query.coordinators)
    assert query.values() == []


def test_a_batch_with_an_expired_transaction_is_not_decided(query: Query) -> None:
    outcomes = query.run(0)
    terminate_transaction(query.cluster, query.sink.transactional_id(1))
    with pytest.raises(ExpiredTransaction, match=f"1 of its 2 .*{query.sink.transactional_id(1)}"):
        commit_all(outcomes, 0, query.coordinators)
    assert query.coordinators.decision(query.sink.group) is None
    abort_all(outcomes, 0, query.coordinators)
    commit_all(query.run(0), 0, query.coordinators)
    assert query.values() == query.expected(1)


def test_a_checkpoint_that_is_behind_the_topic_is_refused(query: Query) -> None:
    for batch in range(3):
        commit_all(query.run(batch), batch, query.coordinators)
    with pytest.raises(StaleBatch, match="already has batch 2"):
        query.attempt(1, 0)
    assert query.values() == query.expected(3)
