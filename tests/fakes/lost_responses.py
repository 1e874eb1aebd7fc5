"""A metadata store that may lose the response to a write that has succeeded."""

from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import Operation, OperationResult, Stat, StoreError


class LostResponses(SqliteStore):
    def __init__(self, path: Path) -> None:
        self.is_losing: bool = False
        self.after_get: Callable[[], None] | None = None
        """Done once, after the next read of a node."""
        super().__init__(path)

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        results = super().transaction(operations)
        if self.is_losing:
            raise StoreError("the response was lost")
        return results

    def get(self, path: str) -> tuple[bytes, Stat]:
        found = super().get(path)
        after, self.after_get = self.after_get, None
        if after is not None:
            after()
        return found
