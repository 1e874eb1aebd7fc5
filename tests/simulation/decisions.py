"""What must hold for every transaction of the metadata store.

| violation | what happened |
|---|---|
| `deposed-controller-wrote` | a broker that is not the controller any more decided about a partition |
| `reassignment-ended-early` | a reassignment ended before all of its new replicas were in the ISR |
"""

from collections.abc import Iterator, Sequence

from tests.simulation.store import SimulatedStore
from tests.simulation.violation import Violation

from barnabas.metadata import nodes, paths
from barnabas.metadata.nodes import StateNode, TopicNode
from barnabas.metadata.store import WatchEvent


class Decisions:
    def __init__(self, store: SimulatedStore) -> None:
        self._store: SimulatedStore = store
        self._topics: dict[str, TopicNode] = {}

    def check(self, changes: Sequence[WatchEvent]) -> Iterator[Violation]:
        """After a transaction has made these changes."""
        for _, path in changes:
            name = path.removeprefix(paths.TOPICS + "/")
            if name == path:
                continue
            if path.endswith("/state"):
                yield from self._in_office(path)
            elif "/" not in name:
                yield from self._whole_reassignments(name)

    def _in_office(self, path: str) -> Iterator[Violation]:
        state, term = self._state(path), self._store.tree.nodes.get(paths.CONTROLLER_EPOCH)
        if state is None or term is None:
            return
        epoch = nodes.decode_controller_epoch(term.data)
        if state.controller_epoch < epoch:
            details = f"{path} was written in controller epoch {state.controller_epoch}, now it is {epoch}"
            yield Violation("deposed-controller-wrote", details)

    def _whole_reassignments(self, topic: str) -> Iterator[Violation]:
        before = self._topics.pop(topic, None)
        node = self._store.tree.nodes.get(paths.topic(topic))
        if node is None:
            return
        after = self._topics[topic] = nodes.decode_topic(node.data)
        if before is None or before.topic_id != after.topic_id:
            return
        for number, added in before.adding.items():
            state = self._state(paths.partition_state(topic, number))
            is_over = number not in after.adding and set(added) <= set(after.assignment[number])
            if is_over and state is not None and not set(added) <= set(state.isr):
                details = f"{topic}-{number} was given {added}, its ISR is {state.isr}"
                yield Violation("reassignment-ended-early", details)

    def _state(self, path: str) -> StateNode | None:
        node = self._store.tree.nodes.get(path)
        return None if node is None else nodes.decode_state(node.data)
