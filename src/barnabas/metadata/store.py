"""The interface of the metadata store: ZooKeeper's model, without ZooKeeper.

A tree of nodes, each with bytes and a version; compare-and-set by version; ephemeral nodes that are removed
with the session of their creator; sequential names; watches; atomic transactions. `sqlite_store` is the
embedded implementation. Every implementation must pass `tests/unit/metadata/store_contract.py`.

Every method is synchronous and may be called from any thread. A write is on disk when it returns. Watch
callbacks run on a thread of the store, one batch after another, and never with a store lock held, so they may
call the store. To follow a node without a gap, watch first, then read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

ANY_VERSION = -1


class StoreError(Exception):
    """The store could not execute the operation. The message is one line that a person can act upon."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.operation_index: int = -1
        """The index of the failed operation of a transaction. -1 outside of a transaction."""


class PathError(StoreError):
    """The operation does not fit the node at `path`."""

    reason = "cannot be used"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} {self.reason}")
        self.path: str = path


class NoNode(PathError):
    reason = "does not exist"


class NodeExists(PathError):
    reason = "already exists"


class BadVersion(PathError):
    reason = "was changed by another process"


class NotEmpty(PathError):
    reason = "has children"


class NoChildrenForEphemerals(PathError):
    reason = "is ephemeral and cannot have children"


class SessionExpired(StoreError):
    """The session has ended, by `close()` or by expiry. Its ephemeral nodes are removed.

    After an expiry every write raises this until `renew()`. Reads and watches keep working: the loss of the
    session is not the loss of the store. After `close()` every method raises this.
    """


class Stat(NamedTuple):
    """The store's properties of a node besides its bytes. Transaction numbers only increase."""

    version: int
    created_in: int
    """Number of the transaction that created the node (ZooKeeper's czxid: a broker's epoch)."""
    modified_in: int
    ephemeral_owner: int
    """Id of the session that owns the node. 0 for a persistent node."""


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = ANY_VERSION
    recursive: bool = False
    """Delete everything below as well."""


@dataclass(frozen=True, slots=True)
class Check:
    """The transaction fails unless the node exists at this version."""

    path: str
    version: int = ANY_VERSION


Operation = Create | Set | Delete | Check
OperationResult = str | Stat | None
"""The created path, the new stat, or None for Delete and Check."""


class Change(Enum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN = "children"
    """A child was created or deleted (only for watches that are not recursive)."""
    LOST = "lost"
    """The store does not know what happened since the last batch: read everything again."""


class WatchEvent(NamedTuple):
    change: Change
    path: str


WatchCallback = Callable[[Sequence[WatchEvent]], None]


class Watch(Protocol):
    def cancel(self) -> None:
        """No batch is started after this returns. Idempotent."""
        ...


class MetadataStore(Protocol):
    @property
    def session_id(self) -> int:
        """Id of this session, as ephemeral nodes carry it in `Stat.ephemeral_owner`.

        An expired session keeps its id until `renew()`.
        """
        ...

    def on_expired(self, callback: Callable[[], None]) -> None:
        """Call back, on a thread of the store, when the session ends other than by close().

        At most once per session. The callback stays for the sessions that `renew()` begins. If the session
        has already expired, the callback is called soon.
        """
        ...

    def renew(self) -> int:
        """Begin a new session after the last one has expired. Returns its id.

        Watches stay and get one LOST event. Returns the id of the current session if it has not expired.
        """
        ...

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Create a node below an existing, persistent parent. Returns the created path (see `sequential`)."""
        ...

    def get(self, path: str) -> tuple[bytes, Stat]: ...

    def exists(self, path: str) -> Stat | None: ...

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat: ...

    def delete(self, path: str, version: int = ANY_VERSION, *, recursive: bool = False) -> None: ...

    def children(self, path: str) -> list[str]:
        """Names (not paths) of the children, sorted."""
        ...

    def subtree(self, path: str) -> dict[str, tuple[bytes, int]]:
        """Returns the node and everything below it, path -> (data, version), parents first.

        Empty if missing.
        """
        ...

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        """Execute all operations, or none and raise the first error, with its `operation_index`."""
        ...

    def watch(
        self, path: str, callback: WatchCallback, *, recursive: bool = False, skip_own: bool = False
    ) -> Watch:
        """Call back for every change of the node and its children, or with `recursive` of everything below.

        The node need not exist. Changes in quick succession may arrive as one. With `skip_own` the store may
        leave out writes through the same store object.
        """
        ...

    def close(self) -> None:
        """End the session: its ephemeral nodes are removed. Idempotent."""
        ...


def check_path(path: str) -> None:
    """Raise StoreError unless `path` is a legal absolute path (ZooKeeper's rules)."""
    if path == "/":
        return
    if not path.startswith("/") or path.endswith("/") or "//" in path or "\0" in path:
        raise StoreError(f"not a legal path: {path!r}")
    if "/." in path and any(part in (".", "..") for part in path.split("/")):
        raise StoreError(f"not a legal path: {path!r}")


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"
