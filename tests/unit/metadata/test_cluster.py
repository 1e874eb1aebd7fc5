import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.patience import PATIENCE

from barnabas.base.ids import decode_uuid
from barnabas.metadata import nodes, paths
from barnabas.metadata.cluster import ClusterChange, ClusterMetadata
from barnabas.metadata.image import NO_LEADER
from barnabas.metadata.nodes import NodeError, StateNode, TopicNode
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import Change, Create, Delete, Operation, Set, WatchEvent

Connect = Callable[[], ClusterMetadata]
TOPIC_ID = UUID(int=12345)


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    opened: list[ClusterMetadata] = []

    def open_one() -> ClusterMetadata:
        cluster = ClusterMetadata(SqliteStore(tmp_path / "metadata.db"))
        opened.append(cluster)
        cluster.load()
        return cluster

    yield open_one
    for cluster in opened:
        cluster.close()
        cluster.store.close()


@pytest.fixture
def cluster(connect: Connect) -> ClusterMetadata:
    return connect()


def topic_operations(name: str, topic_id: UUID = TOPIC_ID, partitions: int = 2) -> list[Operation]:
    node = TopicNode(topic_id, dict.fromkeys(range(partitions), (0, 1)))
    operations: list[Operation] = [
        Create(paths.topic(name), nodes.encode_topic(node)),
        Create(paths.partitions(name)),
    ]
    for number in range(partitions):
        state = nodes.encode_state(StateNode(0, 0, (0,), 1))
        operations += [
            Create(paths.partition(name, number)),
            Create(paths.partition_state(name, number), state),
        ]
    return operations


class Changes:
    def __init__(self, cluster: ClusterMetadata) -> None:
        self._queue: queue.Queue[ClusterChange] = queue.Queue()
        cluster.subscribe(self._queue.put)

    def next(self) -> ClusterChange:
        return self._queue.get(timeout=PATIENCE)

    def wait_until(self, condition: Callable[[ClusterChange], bool]) -> ClusterChange:
        while not condition(change := self.next()):
            pass
        return change

    @property
    def are_none(self) -> bool:
        return self._queue.empty()


def test_new_store_is_laid_out_as_kafka_does_it(cluster: ClusterMetadata) -> None:
    tree = cluster.store.subtree("/")
    assert set(paths.PERSISTENT) <= set(tree)
    assert len(decode_uuid(cluster.cluster_id()).bytes) == 16
    assert nodes.decode_cluster_id(tree["/cluster/id"][0]) == cluster.cluster_id()


def test_cluster_id_is_kept_and_can_be_given(connect: Connect, tmp_path: Path) -> None:
    assert connect().cluster_id() == connect().cluster_id()
    with SqliteStore(tmp_path / "other.db") as store:
        cluster = ClusterMetadata(store)
        assert cluster.load(cluster_id="given").cluster_id == "given"
        cluster.close()


def test_own_write_is_in_the_image_at_once(cluster: ClusterMetadata) -> None:
    changes = Changes(cluster)
    before = cluster.image
    cluster.transaction(topic_operations("t"))
    topic = cluster.image.topics["t"]
    assert cluster.image.topic_by_id[TOPIC_ID] is topic
    assert list(topic.partitions) == [0, 1]
    partition = cluster.image.partition("t", 1)
    assert partition is not None
    assert (partition.leader, partition.leader_epoch, partition.isr, partition.replicas) == (
        0,
        0,
        (0,),
        (0, 1),
    )
    assert partition.state_version == 0
    assert "t" not in before.topics
    change = changes.next()
    assert (change.topics, change.before, change.image) == (frozenset({"t"}), before, cluster.image)


def test_write_of_another_process_arrives(connect: Connect) -> None:
    reader, writer = connect(), connect()
    changes = Changes(reader)
    writer.transaction(topic_operations("t"))
    assert changes.next().topics == {"t"}
    assert reader.image.topics == writer.image.topics
    state = nodes.encode_state(StateNode(1, 1, (0, 1), 1))
    writer.transaction([Set(paths.partition_state("t", 1), state)])
    changes.wait_until(lambda change: change.topics == {"t"})
    partition = reader.image.topics["t"].partitions[1]
    assert (partition.leader, partition.leader_epoch, partition.state_version) == (1, 1, 1)
    writer.transaction([Delete(paths.topic("t"), recursive=True)])
    changes.wait_until(lambda change: "t" not in change.image.topics)
    assert reader.image.topic_by_id == {}


def test_topic_replaced_by_another_of_the_same_name(connect: Connect) -> None:
    reader, writer = connect(), connect()
    writer.transaction(topic_operations("t"))
    changes = Changes(reader)
    other = UUID(int=99)
    writer.transaction([Delete(paths.topic("t"), recursive=True), *topic_operations("t", other, 3)])
    changes.wait_until(lambda change: other in change.image.topic_by_id)
    assert TOPIC_ID not in reader.image.topic_by_id
    assert len(reader.image.topics["t"].partitions) == 3


def test_many_topics_at_once_are_read_in_bulk(connect: Connect) -> None:
    reader, writer = connect(), connect()
    changes = Changes(reader)
    writer.transaction([op for n in range(150) for op in topic_operations(f"t{n}", UUID(int=n + 7), 1)])
    changes.wait_until(lambda change: len(change.image.topics) == 150)
    assert reader.image.topics == writer.image.topics
    assert reader.image.topic_by_id == writer.image.topic_by_id


def test_change_that_a_bulk_read_finds_before_its_event_is_published(connect: Connect) -> None:
    reader, writer = connect(), connect()
    changes = Changes(reader)
    reader.close()  # no event arrives
    names = ["u", *(f"t{n}" for n in range(100))]
    writer.transaction([op for n, name in enumerate(names) for op in topic_operations(name, UUID(int=n), 1)])
    reader.refresh(paths.topic(name) for name in names[1:])
    assert changes.next().topics == set(names)


def test_topic_without_states_has_no_leader(cluster: ClusterMetadata) -> None:
    node = b'{"version": 1, "partitions": {"0": [0, 1], "1": [1]}}'
    cluster.transaction([Create(paths.topic("old"), node)])
    topic = cluster.image.topics["old"]
    assert [partition.leader for partition in topic.partitions.values()] == [NO_LEADER, NO_LEADER]
    assert topic.partitions[0].state_version == -1
    assert cluster.image.topic_by_id == {}


def test_configs_follow_the_store(connect: Connect) -> None:
    reader, writer = connect(), connect()
    changes = Changes(reader)
    writer.transaction(
        [
            Create(paths.topic_config("t"), nodes.encode_config({"retention.ms": "1"})),
            Create(paths.broker_config(""), nodes.encode_config({"message.max.bytes": "2"})),
            Create(paths.broker_config("0"), nodes.encode_config({"message.max.bytes": "3"})),
            Create(paths.group_config("a/b"), nodes.encode_config({"consumer.session.timeout.ms": "4"})),
        ]
    )
    change = changes.next()
    assert change.topic_configs == {"t"}
    assert change.broker_configs == {"", "0"}
    assert change.group_configs == {"a/b"}
    assert reader.image.topic_configs == {"t": {"retention.ms": "1"}}
    assert reader.image.broker_configs == {"": {"message.max.bytes": "2"}, "0": {"message.max.bytes": "3"}}
    assert reader.image.group_configs == {"a/b": {"consumer.session.timeout.ms": "4"}}
    assert connect().image == reader.image
    writer.transaction([Set(paths.topic_config("t"), nodes.encode_config({}))])
    assert changes.next().image.topic_configs == {}


def test_unchanged_write_is_no_change(connect: Connect) -> None:
    cluster = connect()
    cluster.transaction(topic_operations("t"))
    changes = Changes(cluster)
    cluster.refresh([paths.topic("t"), paths.CONTROLLER, paths.BROKER_IDS, "/", "/consumers"])
    assert changes.are_none


def test_unsubscribed_callback_is_quiet_and_a_failing_one_is_logged(
    cluster: ClusterMetadata, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[ClusterChange] = []

    def fail(_: ClusterChange) -> None:
        raise RuntimeError("on purpose")

    cluster.subscribe(fail)
    unsubscribe = cluster.subscribe(seen.append)
    cluster.transaction(topic_operations("a"))
    unsubscribe()
    cluster.transaction(topic_operations("b", UUID(int=3)))
    assert [change.topics for change in seen] == [{"a"}]
    assert "on purpose" in caplog.text


def test_unreadable_topic_stops_the_load_but_not_a_running_broker(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    running, writer = connect(), connect()
    running.close()  # The test itself triggers the refresh.
    writer.store.transaction([Create(paths.topic("bad"), b"{}"), *topic_operations("good")])
    with pytest.raises(NodeError, match="/brokers/topics/bad"):
        connect()
    bad, good = (WatchEvent(Change.CREATED, paths.topic(name)) for name in ("bad", "good"))
    running._on_events([bad, good])
    assert "/brokers/topics/bad cannot be read" in caplog.text
    writer.store.delete(paths.topic("bad"))
    running._on_events([WatchEvent(Change.DELETED, bad.path)])
    assert set(running.image.topics) == {"good"}


def test_several_brokers_may_lay_out_the_store_together(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "m.db") as first, SqliteStore(tmp_path / "m.db") as second:
        one, other = ClusterMetadata(first), ClusterMetadata(second)
        empty = first.subtree("/")
        assert other._lay_out(empty, None) is True
        assert one._lay_out(empty, None) is True
        assert one.cluster_id() == other.cluster_id()
        one.close()
        other.close()
