"""What the watch of a cluster takes for an anomaly."""

from tests.faults.transactions.anomalies import Kind
from tests.faults.transactions.cluster_watch import ClusterWatch


def _watch() -> ClusterWatch:
    return ClusterWatch([], [], "g")


def test_one_leader_in_an_epoch() -> None:
    watch = _watch()
    watch.note_leader("t-0", 1, 2)
    watch.note_leader("t-0", 1, 2)
    watch.note_leader("t-0", 2, 1)
    assert watch.findings == []
    watch.note_leader("t-0", 1, 1)
    assert [each.kind for each in watch.findings] == [Kind.TWO_LEADERS]


def test_offsets_grow() -> None:
    watch = _watch()
    watch.note_offset(Kind.END_WENT_BACK, "t-0", 5)
    watch.note_offset(Kind.END_WENT_BACK, "t-1", 3)
    watch.note_offset(Kind.GROUP_OFFSET_WENT_BACK, "t-0", 4)
    assert watch.findings == []
    watch.note_offset(Kind.END_WENT_BACK, "t-0", 4)
    assert [each.kind for each in watch.findings] == [Kind.END_WENT_BACK]
