"""The embedded metadata store of a test broker, which a test can cut off and whose session it can end.

While it is cut off, every read and write raises StoreError, no change arrives, and the session is not
renewed, so the other brokers expire it after the session timeout. The broker notices that afterwards.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.sqlite_writes import Writer
from barnabas.metadata.store import StoreError

if TYPE_CHECKING:
    import sqlite3


class CutStore(SqliteStore):
    def __init__(
        self,
        path: Path | str,
        session_timeout_ms: int,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._stopped_at_ns: int | None = None
        self._running_ns: Callable[[], int] = now_ns
        super().__init__(path, session_timeout_ms, self._now)

    @property
    def is_cut(self) -> bool:
        return self._stopped_at_ns is not None

    def cut(self, is_cut: bool) -> None:
        """Called from any thread."""
        if is_cut != self.is_cut:
            self._stopped_at_ns = self._running_ns() if is_cut else None

    def expire_session(self) -> None:
        """End the session of this store, as other brokers do if it is silent for too long."""
        self.expire(self.session_id)

    def tick(self) -> None:
        """Called by the thread of the watches before it reads: it reads nothing while cut off."""
        self._check_reachable()
        super().tick()

    @contextmanager
    def _reading(self) -> "Iterator[sqlite3.Connection]":
        self._check_reachable()
        with super()._reading() as connection:
            yield connection

    @contextmanager
    def _transaction(self, owner: int) -> Iterator[Writer]:
        self._check_reachable()
        with super()._transaction(owner) as writer:
            yield writer

    def _check_reachable(self) -> None:
        if self.is_cut:
            raise StoreError(f"the test has isolated this broker from {self.path}")

    def _now(self) -> int:
        """Stands still while cut off: a stamp of this time does not renew the session."""
        stopped = self._stopped_at_ns
        return self._running_ns() if stopped is None else stopped
