"""Batches of equal numbers: replays are recognised, rollbacks, copies and zombies are refused.

Each life of a checkpoint is a list of batches with the plan that Spark recorded for them.
"""

from dataclasses import replace

import pytest
from tests.unit.spark.coordinator_fake import FakeCluster, FakeProducer

from barnabas.spark.exactly_once import BatchTask, Outcome, commit_all, write_once
from barnabas.spark.lineage import MOST_END_OFFSETS, MOST_RUNS, Lineage, StaleBatch, following
from barnabas.spark.sink_identity import SinkIdentity

QUERY = SinkIdentity("spark-sink", "q", "out")
LOAD = SinkIdentity("spark-sink", "load", "out", is_stream=False)


def planned(run: str | None, *plans: str, first: int = 0) -> Lineage:
    """Of the last of these batches."""
    return Lineage(run, None, dict(enumerate(plans, first)), f"end of {plans[-1]}" if plans else None)


def write(cluster: FakeCluster, batch: int, lineage: Lineage, sink: SinkIdentity = QUERY) -> list[Outcome]:
    outcomes = []
    for number in range(2):
        task = BatchTask(sink, batch, number, lineage)
        producer = FakeProducer(cluster, task.transactional_id)
        rows = [f"{batch}/{number}/{lineage.plans.get(batch)}"]
        outcomes.append(write_once(task, iter(rows), producer, cluster, producer.write))
    return outcomes


def run(cluster: FakeCluster, batch: int, lineage: Lineage, sink: SinkIdentity = QUERY) -> None:
    commit_all(write(cluster, batch, lineage, sink), batch, cluster)


def test_a_replay_after_a_crash_is_recognised() -> None:
    cluster = FakeCluster()
    run(cluster, 0, planned("r1", "a"))
    run(cluster, 1, planned("r1", "a", "b"))
    run(cluster, 1, planned("r2", "a", "b"))
    run(cluster, 2, planned("r2", "b", "c", first=1))
    assert len(cluster.visible) == 6


def test_a_checkpoint_that_is_behind_the_topic_is_refused() -> None:
    cluster = FakeCluster()
    for batch, plan in enumerate("abc"):
        run(cluster, batch, planned("r1", plan, first=batch))
    before = list(cluster.visible)
    with pytest.raises(StaleBatch) as refused:
        write(cluster, 1, planned("r2", "a", "other"))
    message = str(refused.value)
    assert "topic out already has batch 2 of query q, and this is batch 1" in message
    assert "restored from a backup" in message
    assert "starts at end of c, where it ended (startingOffsets)" in message
    assert "transactionalIdPrefix" in message
    assert cluster.visible == before


def test_a_checkpoint_that_is_one_batch_behind_and_was_planned_anew_is_refused() -> None:
    cluster = FakeCluster()
    run(cluster, 0, planned("r1", "a"))
    run(cluster, 1, planned("r1", "a", "b"))
    with pytest.raises(StaleBatch, match="read other offsets than batch 1 of this checkpoint"):
        write(cluster, 1, planned("r2", "a", "longer"))


def test_a_copy_that_went_another_way_is_refused_even_in_its_next_batch() -> None:
    cluster = FakeCluster()
    run(cluster, 0, planned("r1", "a"))
    run(cluster, 1, planned("r1", "a", "b"))
    with pytest.raises(StaleBatch, match="one of two copies that both went on"):
        write(cluster, 2, planned("r3", "other", "c", first=1))


def test_a_run_that_was_followed_by_another_is_refused() -> None:
    cluster = FakeCluster()
    run(cluster, 0, planned("r1"))
    run(cluster, 0, planned("r2"))  # which finds the batch done, and takes over
    with pytest.raises(StaleBatch, match=r"Run r1 of query q cannot write batch 1 .*: run r2 took over"):
        write(cluster, 1, planned("r1"))
    run(cluster, 1, planned("r2"))


def test_a_zombie_that_wrote_before_it_was_followed_commits_nothing() -> None:
    cluster = FakeCluster()
    run(cluster, 0, planned("r1"))
    late = write(cluster, 1, planned("r1"))
    run(cluster, 1, planned("r2"))
    visible = list(cluster.visible)
    with pytest.raises(StaleBatch, match="run r2 took over"):
        commit_all(late, 1, cluster)
    assert cluster.visible == visible


def test_a_task_that_outlived_its_batch_is_refused() -> None:
    cluster = FakeCluster()
    run(cluster, 0, planned("r1"))
    run(cluster, 1, planned("r1"))
    with pytest.raises(StaleBatch, match="This task outlived its batch"):
        write(cluster, 0, planned("r1"))


def test_another_topic_is_another_sink() -> None:
    cluster = FakeCluster()
    for topic in ("out", "test"):
        sink = replace(QUERY, topic=topic)
        for batch in range(3):
            run(cluster, batch, planned("r1", f"{topic}-{batch}", first=batch), sink)
    assert len(cluster.visible) == 12


def test_an_application_that_counts_anew_is_refused() -> None:
    cluster = FakeCluster()
    for version in range(3):
        run(cluster, version, Lineage("r1", "q1"), LOAD)
    with pytest.raises(StaleBatch) as refused:
        write(cluster, 0, Lineage("r2", "q2"), LOAD)
    message = str(refused.value)
    assert "topic out already has version 2 of application load, and this is 0" in message
    assert "the checkpoint that counts them was deleted" in message
    assert "add 3 to its batch numbers" in message
    assert "another txnAppId" in message


def test_an_application_whose_only_version_comes_from_another_checkpoint_is_refused() -> None:
    cluster = FakeCluster()
    run(cluster, 0, Lineage("r1", "q1"), LOAD)
    run(cluster, 0, Lineage("r2", "q1"), LOAD)
    with pytest.raises(StaleBatch, match="written to topic out by query q1, and this is query q2"):
        write(cluster, 0, Lineage("r3", "q2"), LOAD)
    assert len(cluster.visible) == 2


def test_batches_of_which_nothing_is_known_follow_their_numbers() -> None:
    cluster = FakeCluster()
    run(cluster, 0, Lineage(), LOAD)
    run(cluster, 0, Lineage(), LOAD)
    run(cluster, 1, Lineage("r1", "q"), LOAD)
    run(cluster, 2, Lineage(), LOAD)
    run(cluster, 3, Lineage("r1", "q"), LOAD)
    assert len(cluster.visible) == 8


def test_runs_and_offsets_are_recorded_within_limits() -> None:
    decision = following(0, Lineage("r0"), None)
    for number in range(1, 20):
        decision = following(number, Lineage(f"r{number}"), decision)
    assert decision.earlier_runs == tuple(f"r{number}" for number in range(19 - MOST_RUNS, 19))
    assert following(0, Lineage(end_offsets="x" * (MOST_END_OFFSETS + 1)), None).end_offsets is None
