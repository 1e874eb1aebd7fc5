"""The keys that newer records have, within a bound on memory.

Records are judged from the newest on, so the first that is met of a key is the one that stays, and a set is
all that is needed: no offset per key, and no hash instead of a key, so no key is ever taken for another
(Kafka's map holds 24 bytes a key, MD5 and offset; this one about 100 for a short key).
"""

from collections.abc import Sequence
from sys import getsizeof

_OBJECT = getsizeof(b"") + 15
"""A byte string beyond its content, rounded as the allocator does."""
_GROWTH = 3
"""A set that grows holds its old table and one twice as large."""


class SeenKeys:
    def __init__(self, memory: int) -> None:
        self.keys: set[bytes] = set()
        self._memory: int = memory
        self._key_bytes: int = 0
        self.marks: int = 0
        """Bytes that the verdicts on single records take."""

    @property
    def used(self) -> int:
        return getsizeof(self.keys) + self._key_bytes + self.marks

    @property
    def is_full(self) -> bool:
        """Whether another key could grow the set beyond its bound."""
        table = getsizeof(self.keys)
        slots = table // 16
        growth = (_GROWTH - 1) * table if len(self.keys) * 5 >= slots * 2.9 else 0
        return table + growth + self._key_bytes + self.marks > self._memory

    def add(self, keys: Sequence[bytes | None]) -> set[bytes | None]:
        """Those of `keys` that are new, from now on seen."""
        fresh = set(keys).difference(self.keys)
        fresh.discard(None)
        if fresh:
            self.keys.update(fresh)  # type: ignore[arg-type]
            self._key_bytes += sum(map(len, fresh)) + len(fresh) * _OBJECT  # type: ignore[arg-type]
        return fresh
