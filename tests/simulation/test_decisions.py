"""Each rule for transactions of the store names one that breaks it, and accepts one that does not."""

from tests.simulation.decisions import Decisions
from tests.simulation.store import SimulatedStore

from barnabas.base.ids import random_uuid
from barnabas.metadata import nodes, paths
from barnabas.metadata.nodes import StateNode, TopicNode
from barnabas.metadata.store import Create, Operation, Set

_ID = random_uuid()


def _store() -> tuple[SimulatedStore, list[str]]:
    """A store with controller epoch 2 and a partition without a state; the list gets what is violated."""
    store = SimulatedStore()
    found: list[str] = []
    for path in ("/brokers", paths.TOPICS):
        store.write([Create(path)], None)
    store.write([Create(paths.CONTROLLER_EPOCH, nodes.encode_controller_epoch(2))], None)
    decisions = Decisions(store)
    store.on_write = lambda changes: found.extend(each.kind for each in decisions.check(changes))
    topic = nodes.encode_topic(TopicNode(_ID, {0: (1, 2, 3)}, {0: (2, 3)}))
    store.write([Create(paths.topic("t"), topic), Create(paths.partitions("t"))], None)
    store.write([Create(paths.partition("t", 0)), _state(Create, (1, 2), 2)], None)
    return store, found


def _state(operation: type[Create] | type[Set], isr: tuple[int, ...], epoch: int) -> Operation:
    return operation(paths.partition_state("t", 0), nodes.encode_state(StateNode(1, 1, isr, epoch)))


def test_controller_in_office_writes() -> None:
    store, found = _store()
    store.write([_state(Set, (1,), 2)], None)
    assert found == []


def test_deposed_controller_writes() -> None:
    store, found = _store()
    store.write([_state(Set, (1,), 1)], None)
    assert found == ["deposed-controller-wrote"]


def test_reassignment_ends_with_all_new_replicas_in_sync() -> None:
    store, found = _store()
    topic = Set(paths.topic("t"), nodes.encode_topic(TopicNode(_ID, {0: (2, 3)})))
    store.write([topic, _state(Set, (2, 3), 2)], None)
    assert found == []


def test_reassignment_ends_early() -> None:
    store, found = _store()
    topic = Set(paths.topic("t"), nodes.encode_topic(TopicNode(_ID, {0: (2, 3)})))
    store.write([topic, _state(Set, (2,), 2)], None)
    assert found == ["reassignment-ended-early"]


def test_reassignment_is_cancelled() -> None:
    store, found = _store()
    store.write([Set(paths.topic("t"), nodes.encode_topic(TopicNode(_ID, {0: (1,)})))], None)
    assert found == []
