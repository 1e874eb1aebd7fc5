"""The nodes of a simulated metadata store, and what one transaction does to them. ZooKeeper's model."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.metadata.store import (
    ANY_VERSION,
    BadVersion,
    Change,
    Check,
    Create,
    Delete,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    OperationResult,
    Set,
    Stat,
    StoreError,
    WatchEvent,
    check_path,
    parent_of,
)


class Node(NamedTuple):
    data: bytes
    version: int
    created_in: int
    modified_in: int
    owner: int
    """The session of an ephemeral node; 0 for a persistent one."""
    next_sequence: int = 0

    @property
    def stat(self) -> Stat:
        return Stat(self.version, self.created_in, self.modified_in, self.owner)


class Tree:
    """Every state is a dictionary of its own: a transaction that fails leaves the one before it."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"/": Node(b"", 0, 0, 0, 0)}
        self.last_transaction: int = 0

    def below(self, path: str) -> list[str]:
        """The node and everything below it, parents first."""
        prefix = path if path == "/" else path + "/"
        found = sorted(each for each in self.nodes if each.startswith(prefix) and each != path)
        return [path, *found] if path in self.nodes else []

    def children(self, path: str) -> list[str]:
        return [each for each in self.below(path) if each != "/" and parent_of(each) == path]

    def owned_by(self, session: int) -> list[str]:
        return sorted(path for path, node in self.nodes.items() if node.owner == session)

    def apply(
        self, operations: Sequence[Operation], session: int
    ) -> tuple[list[OperationResult], list[WatchEvent]]:
        """All operations, or none and the first error. Returns the results and the changes, in order."""
        writing = _Transaction(self, session)
        before = self.nodes
        self.nodes = dict(before)
        results: list[OperationResult] = []
        try:
            results.extend(writing.apply(operation) for operation in operations)
        except StoreError as error:
            self.nodes = before
            error.operation_index = len(results)
            raise
        if writing.changes:
            self.last_transaction = writing.number
        return results, writing.changes


class _Transaction:
    def __init__(self, tree: Tree, session: int) -> None:
        self._tree: Tree = tree
        self._session: int = session
        self.number: int = tree.last_transaction + 1
        self.changes: list[WatchEvent] = []

    def apply(self, operation: Operation) -> OperationResult:
        check_path(operation.path)
        match operation:
            case Create():
                return self._create(operation)
            case Set():
                return self._set(operation)
            case Delete():
                self._delete(operation)
                return None
            case Check():
                self._node(operation.path, operation.version)
                return None

    def _node(self, path: str, version: int = ANY_VERSION) -> Node:
        node = self._tree.nodes.get(path)
        if node is None:
            raise NoNode(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersion(path)
        return node

    def _create(self, create: Create) -> str:
        nodes = self._tree.nodes
        parent_path = parent_of(create.path)
        parent = self._node(parent_path)
        if parent.owner:
            raise NoChildrenForEphemerals(parent_path)
        path = create.path
        if create.sequential:
            path += f"{parent.next_sequence:010d}"
            nodes[parent_path] = parent._replace(next_sequence=parent.next_sequence + 1)
        if path in nodes:
            raise NodeExists(path)
        owner = self._session if create.ephemeral else 0
        nodes[path] = Node(create.data, 0, self.number, self.number, owner)
        self.changes.append(WatchEvent(Change.CREATED, path))
        return path

    def _set(self, change: Set) -> Stat:
        node = self._node(change.path, change.version)
        node = node._replace(data=change.data, version=node.version + 1, modified_in=self.number)
        self._tree.nodes[change.path] = node
        self.changes.append(WatchEvent(Change.CHANGED, change.path))
        return node.stat

    def _delete(self, delete: Delete) -> None:
        self._node(delete.path, delete.version)
        found = self._tree.below(delete.path)
        if len(found) > 1 and not delete.recursive:
            raise NotEmpty(delete.path)
        for path in reversed(found):
            del self._tree.nodes[path]
            self.changes.append(WatchEvent(Change.DELETED, path))
