import pytest
from tests.fakes.reassigning_cluster import ReassigningCluster

from barnabas.client.admin.reassignment_plan import Plan
from barnabas.client.admin.reassignment_progress import (
    DONE,
    MOVING,
    OTHER,
    MoveRow,
    ongoing_progress,
    plan_progress,
)
from barnabas.client.admin.replica_log_dirs import Replica


@pytest.fixture
def cluster() -> ReassigningCluster:
    found = ReassigningCluster({("a", 0): (1, 2), ("b", 0): (3,)})
    found.sizes = {("a", 0, 1): 1000, ("a", 0, 2): 900, ("a", 0, 3): 250}
    return found


def test_progress_is_what_new_replicas_have_of_the_largest_old_one(cluster: ReassigningCluster) -> None:
    cluster.targets["a", 0] = (2, 3)
    progress = ongoing_progress(cluster)
    (row,) = progress.rows
    assert row == MoveRow(("a", 0), (1, 2, 3), [2, 3], MOVING, 250, 1000)
    assert (row.percent, row.left) == (25, 750)
    assert not progress.is_over
    assert not progress.is_cluster_quiet


def test_nothing_moves(cluster: ReassigningCluster) -> None:
    progress = ongoing_progress(cluster)
    assert progress.rows == ()
    assert progress.is_over
    assert progress.is_cluster_quiet


def test_plan_is_over_when_the_controller_says_so(cluster: ReassigningCluster) -> None:
    plan = Plan(((("a", 0), (2, 3)), (("b", 0), (3,))), {})
    cluster.targets["a", 0] = (2, 3)
    cluster.sizes["a", 0, 3] = 5000
    progress = plan_progress(cluster, plan)
    assert [(row.topic_partition, row.state, row.percent) for row in progress.rows] == [
        (("a", 0), MOVING, 99),
        (("b", 0), DONE, 100),
    ]
    cluster.finish()
    progress = plan_progress(cluster, plan)
    assert [(row.state, row.percent) for row in progress.rows] == [(DONE, 100), (DONE, 100)]
    assert progress.is_over
    assert progress.is_cluster_quiet


def test_other_replicas_than_planned_are_no_progress(cluster: ReassigningCluster) -> None:
    (row,) = plan_progress(cluster, Plan(((("a", 0), (2, 1)),), {})).rows
    assert (row.state, row.percent, row.left) == (OTHER, None, None)


def test_foreign_move_keeps_the_cluster_busy_but_not_the_plan(cluster: ReassigningCluster) -> None:
    cluster.targets["a", 0] = (2, 3)
    progress = plan_progress(cluster, Plan(((("b", 0), (3,)),), {}))
    assert progress.is_over
    assert not progress.is_cluster_quiet


def test_directories_are_rows_of_their_own(cluster: ReassigningCluster) -> None:
    plan = Plan(((("a", 0), (1, 2)),), {Replica("a", 0, 1): "/disk2", Replica("a", 0, 2): "/disk1"})
    cluster.future_dirs["a", 0, 1] = "/disk2"
    rows = plan_progress(cluster, plan).rows[1:]
    assert rows == (
        MoveRow(("a", 0), ["/disk1"], ["/disk2"], MOVING, 1000, 1000, broker=1),
        MoveRow(("a", 0), ["/disk1"], ["/disk1"], DONE, broker=2),
    )
    cluster.future_dirs.clear()
    assert [row.state for row in plan_progress(cluster, plan).rows[1:]] == [OTHER, DONE]


def test_empty_replicas_are_not_complete_before_the_end() -> None:
    assert MoveRow(("a", 0), (1,), (2,), MOVING, 0, 0).percent == 99
