"""Cycles of dependencies between transactions.

wr: a transaction polled what another had sent. ww: its record follows that of another in a partition. A cycle
of wr edges alone is G1c: each has read what the next one had not committed. With a ww edge in it a cycle is
allowed (see `anomalies.py`).
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping

from tests.faults.transactions.anomalies import Anomaly, Kind
from tests.faults.transactions.history import Transaction
from tests.faults.transactions.observed_log import ObservedLog

Name = tuple[str, int]
Edges = dict[Name, dict[Name, int]]
"""From, to, and the value that proves it."""


def cycles(log: ObservedLog) -> Iterator[Anomaly]:
    reads, writes = _read_edges(log), _write_edges(log)
    by_name = {_name(each): each for each in log.history.transactions}
    for component in components(reads):
        circle = _shortest(reads, component)
        steps = [
            f"{by_name[one]} sent {log.describe(reads[one][other])}, polled by"
            for one, other in zip(circle, [*circle[1:], circle[0]], strict=True)
        ]
        values = tuple(reads[one][other] for one, other in zip(circle, [*circle[1:], circle[0]], strict=True))
        yield Anomaly(Kind.WRITE_READ_CYCLE, f"{' '.join(steps)} the first", values)
    for component in components(writes):
        yield Anomaly(Kind.WRITE_CYCLE, f"{len(component)} transactions, {component[0]} among them")
    both: Edges = defaultdict(dict, {name: dict(found) for name, found in writes.items()})
    for name, found in reads.items():
        both[name].update(found)
    for component in components(both):
        if any(other in set(component) for name in component for other in reads.get(name, ())):
            yield Anomaly(Kind.MIXED_CYCLE, f"{len(component)} transactions, {component[0]} among them")


def _name(transaction: Transaction) -> Name:
    return transaction.process, transaction.number


def _read_edges(log: ObservedLog) -> Edges:
    edges: Edges = defaultdict(dict)
    for reader in log.history.transactions:
        for poll in reader.polls:
            for reads in poll.reads.values():
                for value in reads.values:
                    writer = log.writer_of.get(value)
                    if writer is not None and writer[0] is not reader:
                        edges[_name(writer[0])].setdefault(_name(reader), value)
    return edges


def _write_edges(log: ObservedLog) -> Edges:
    edges: Edges = defaultdict(dict)
    for key, values in log.value_at.items():
        previous: Transaction | None = None
        for offset in log.committed_offsets(key):
            writer = log.writer_of[values[offset]][0]
            if previous is not None and previous is not writer:
                edges[_name(previous)].setdefault(_name(writer), values[offset])
            previous = writer
    return edges


def components(edges: Mapping[Name, Mapping[Name, int]]) -> Iterator[list[Name]]:
    """Strongly connected, of more than one. Tarjan's, without recursion: paths are long."""
    order: dict[Name, int] = {}
    low: dict[Name, int] = {}
    stack: list[Name] = []
    is_on_stack: set[Name] = set()
    for root in edges:
        if root in order:
            continue
        path = [(root, iter(edges.get(root, ())))]
        order[root] = low[root] = len(order)
        stack.append(root)
        is_on_stack.add(root)
        while path:
            name, others = path[-1]
            following = next(
                (other for other in others if _is_news(other, name, order, low, is_on_stack)), None
            )
            if following is not None:
                order[following] = low[following] = len(order)
                stack.append(following)
                is_on_stack.add(following)
                path.append((following, iter(edges.get(following, ()))))
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[name])
            if low[name] == order[name]:
                component = _pop_until(name, stack)
                is_on_stack.difference_update(component)
                if len(component) > 1:
                    yield component


def _is_news(
    other: Name, name: Name, order: Mapping[Name, int], low: dict[Name, int], is_on_stack: set[Name]
) -> bool:
    """Whether it was never visited; one that is on the stack closes a circle."""
    if other not in order:
        return True
    if other in is_on_stack:
        low[name] = min(low[name], order[other])
    return False


def _pop_until(name: Name, stack: list[Name]) -> list[Name]:
    component = [stack.pop()]
    while component[-1] != name:
        component.append(stack.pop())
    return component


def _shortest(edges: Edges, component: list[Name]) -> list[Name]:
    """The shortest circle through one of the component, for people to read."""
    inside, start = set(component), component[0]
    came_from: dict[Name, Name] = {}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for other in edges.get(name, ()):
            if other == start:
                circle = [name]
                while circle[-1] != start:
                    circle.append(came_from[circle[-1]])
                return circle[::-1]
            if other in inside and other not in came_from:
                came_from[other] = name
                waiting.append(other)
    raise AssertionError("a component without a circle")
