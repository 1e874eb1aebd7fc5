from pathlib import Path

from barnabas.cli.local_cluster.layout import Layout
from barnabas.cli.local_cluster.state import ClusterState, read_state
from barnabas.client.admin.cluster import ClusterDescription, Endpoint
from barnabas.client.admin.topics import PartitionDescription, TopicDescription


def _partition(index: int, leader: int | None, isr: tuple[int, ...]) -> PartitionDescription:
    return PartitionDescription(index, leader, 0, (0, 1), isr, None, None, ())


def test_tables_show_brokers_leaders_and_isrs(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create(2, ["a", "b"], 9092)
    first, second = layout.members()
    topic = TopicDescription("t", None, False, (_partition(0, 0, (0,)), _partition(1, None, (1,))))
    described = ClusterDescription("id", 0, (Endpoint(0, "127.0.0.1", 9092, "a", False),))
    state = ClusterState(((first, "running", 7), (second, "running", 8)), described, (topic,))
    assert list(state.brokers().rows) == [
        (0, "running", 7, "127.0.0.1:9092", "a", True, 1, 2, 1),
        (1, "starting", 8, "127.0.0.1:9093", "b", False, 0, 2, 1),
    ]
    assert state.brokers().footer == "2 partitions, 2 under-replicated, 1 without a leader"
    assert list(state.partitions().rows) == [("t", 0, 0, (0, 1), (0,)), ("t", 1, None, (0, 1), (1,))]


def test_cluster_that_does_not_run_has_no_leaders(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create(1, [], 9092)
    assert list(read_state(layout).brokers().rows) == [
        (0, "stopped", None, "127.0.0.1:9092", None, False, None, None, None)
    ]
