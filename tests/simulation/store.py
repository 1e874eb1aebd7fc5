"""A metadata store in memory with ZooKeeper's model: one tree, and a client with a session for each broker.

Every client sees the tree as it is; what differs between clients is when they are notified, and what goes
wrong. A client can be out of reach of the store (every call fails, notifications are lost, and it gets one
LOST event when it is back), its next write can lose its reply (the write was done, the client gets an error),
and its session can expire. `leases` ends the sessions of brokers that are dead, paused or cut off.

Callbacks go through `notify`, which a simulation makes slow (`threads.InOrder`). No lock, no thread: clients
of a simulation share its thread, other callers must take turns.
"""

import logging
from collections.abc import Callable, Sequence

from tests.simulation.tree import Tree

from barnabas.metadata.store import (
    ANY_VERSION,
    Change,
    Create,
    Delete,
    NoNode,
    Operation,
    OperationResult,
    SessionExpired,
    Set,
    Stat,
    StoreError,
    WatchCallback,
    WatchEvent,
    check_path,
    parent_of,
)

logger = logging.getLogger(__name__)

Notify = Callable[[Callable[[], None]], object]
"""Runs a function later, on a thread of the store; functions run in order."""


class SimulatedStore:
    def __init__(self) -> None:
        self.tree: Tree = Tree()
        self.clients: list[StoreClient] = []
        self.on_write: Callable[[Sequence[WatchEvent]], None] = lambda _: None
        """Called with the changes of every transaction."""
        self._last_session: int = 0

    def connect(self, notify: Notify) -> "StoreClient":
        client = StoreClient(self, notify)
        self.clients.append(client)
        return client

    def new_session(self) -> int:
        self._last_session += 1
        return self._last_session

    def write(self, operations: Sequence[Operation], writer: "StoreClient | None") -> list[OperationResult]:
        results, changes = self.tree.apply(operations, 0 if writer is None else writer.session_id)
        if changes:
            self.on_write(changes)
            for client in list(self.clients):
                client.on_changes(changes, is_own=client is writer)
        return results

    def end_session(self, session: int) -> None:
        """Remove what the session owns."""
        self.write([Delete(path) for path in self.tree.owned_by(session)], None)


class StoreWatch:
    def __init__(
        self, client: "StoreClient", path: str, callback: WatchCallback, recursive: bool, skip_own: bool
    ) -> None:
        self._client: StoreClient = client
        self.path: str = path
        self.callback: WatchCallback = callback
        self.recursive: bool = recursive
        self.skip_own: bool = skip_own
        self._prefix: str = path if path == "/" else path + "/"

    def cancel(self) -> None:
        self._client.watches.pop(self, None)

    def select(self, changes: Sequence[WatchEvent]) -> list[WatchEvent]:
        events: list[WatchEvent] = []
        children_changed = False
        for change, path in changes:
            if path == self.path or (self.recursive and path.startswith(self._prefix)):
                events.append(WatchEvent(change, path))
            elif not self.recursive and change is not Change.CHANGED and parent_of(path) == self.path:
                children_changed = True
        if children_changed:
            events.append(WatchEvent(Change.CHILDREN, self.path))
        return events


class StoreClient:
    """Satisfies `barnabas.metadata.store.MetadataStore`."""

    def __init__(self, store: SimulatedStore, notify: Notify) -> None:
        self._store: SimulatedStore = store
        self._notify: Notify = notify
        self.session_id: int = store.new_session()
        self.is_reachable: bool = True
        self.loses_next_reply: bool = False
        self.has_expired: bool = False
        self.is_closed: bool = False
        self.watches: dict[StoreWatch, None] = {}
        self._on_expired: list[Callable[[], None]] = []
        self._unreported: int = 0
        """Expired sessions that the client does not know about: it is out of reach."""
        self._missed_changes: bool = False
        self._late: list[Callable[[], None]] | None = None
        """Notifications that are held back; None: they are not."""

    # --- what goes wrong --------------------------------------------------------------------------------

    def disconnect(self) -> None:
        self.is_reachable = False

    def reconnect(self) -> None:
        """Reach the store again: watches learn that they may have missed something, then an expiry."""
        if self.is_reachable:
            return
        self.is_reachable = True
        if self._missed_changes:
            self._missed_changes = False
            self._lose_changes()
        unreported, self._unreported = self._unreported, 0
        for _ in range(unreported):
            self._report_expiry()

    def expire(self) -> None:
        """The store ends the session: its nodes are removed now, the client learns it when it can."""
        if self.has_expired or self.is_closed:
            return
        self.has_expired = True
        self._store.end_session(self.session_id)
        if self.is_reachable:
            self._report_expiry()
        else:
            self._unreported += 1

    def _report_expiry(self) -> None:
        for callback in self._on_expired:
            self._deliver(lambda callback=callback: self._run(callback))  # type: ignore[misc]

    def _lose_changes(self) -> None:
        for watch in list(self.watches):
            self._notify_watch(watch, [WatchEvent(Change.LOST, watch.path)])

    def hold_changes(self) -> None:
        """Notifications come late: all of them at `release_changes`."""
        if self._late is None:
            self._late = []

    def release_changes(self) -> None:
        late, self._late = self._late or [], None
        for each in late:
            self._notify(each)

    def _deliver(self, notification: Callable[[], None]) -> None:
        if self._late is not None:
            self._late.append(notification)
        else:
            self._notify(notification)

    # --- sessions ---------------------------------------------------------------------------------------

    def on_expired(self, callback: Callable[[], None]) -> None:
        self._on_expired.append(callback)
        if self.has_expired:
            self._notify(lambda: self._run(callback))

    def renew(self) -> int:
        self._check_reachable()
        if self.has_expired:
            self.has_expired = False
            self.session_id = self._store.new_session()
            self._lose_changes()
        return self.session_id

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.watches.clear()
            self._store.clients.remove(self)
            if not self.has_expired:
                self._store.end_session(self.session_id)

    def _check_reachable(self) -> None:
        if self.is_closed:
            raise SessionExpired("the session is over: it was closed")
        if not self.is_reachable:
            raise StoreError("the metadata store does not respond; check its host and the network")

    # --- reading ----------------------------------------------------------------------------------------

    def get(self, path: str) -> tuple[bytes, Stat]:
        check_path(path)
        self._check_reachable()
        node = self._store.tree.nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node.data, node.stat

    def exists(self, path: str) -> Stat | None:
        check_path(path)
        self._check_reachable()
        node = self._store.tree.nodes.get(path)
        return None if node is None else node.stat

    def children(self, path: str) -> list[str]:
        self.get(path)
        return [child.rpartition("/")[2] for child in self._store.tree.children(path)]

    def subtree(self, path: str) -> dict[str, tuple[bytes, int]]:
        check_path(path)
        self._check_reachable()
        tree = self._store.tree
        return {each: tree.nodes[each][:2] for each in tree.below(path)}

    # --- writing ----------------------------------------------------------------------------------------

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        (created,) = self.transaction([Create(path, data, ephemeral, sequential)])
        assert isinstance(created, str)
        return created

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        (stat,) = self.transaction([Set(path, data, version)])
        assert isinstance(stat, Stat)
        return stat

    def delete(self, path: str, version: int = ANY_VERSION, *, recursive: bool = False) -> None:
        self.transaction([Delete(path, version, recursive)])

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        self._check_reachable()
        if self.has_expired:
            raise SessionExpired("the session has expired: the broker did not respond for too long")
        results = self._store.write(operations, self)
        if self.loses_next_reply:
            self.loses_next_reply = False
            raise StoreError("the connection to the metadata store was lost before it responded to a write")
        return results

    # --- watching ---------------------------------------------------------------------------------------

    def watch(
        self, path: str, callback: WatchCallback, *, recursive: bool = False, skip_own: bool = False
    ) -> StoreWatch:
        check_path(path)
        self._check_reachable()
        watch = StoreWatch(self, path, callback, recursive, skip_own)
        self.watches[watch] = None
        return watch

    def on_changes(self, changes: Sequence[WatchEvent], *, is_own: bool) -> None:
        """A transaction was committed."""
        for watch in list(self.watches):
            events = [] if is_own and watch.skip_own else watch.select(changes)
            if events and self.is_reachable:
                self._notify_watch(watch, events)
            elif events:
                self._missed_changes = True

    def _notify_watch(self, watch: StoreWatch, events: Sequence[WatchEvent]) -> None:
        def run() -> None:
            if watch in self.watches:
                self._run(lambda: watch.callback(events))

        self._deliver(run)

    def _run(self, callback: Callable[[], None]) -> None:
        try:
            callback()
        except Exception:
            logger.exception("Unexpected error in a callback of the metadata store")
