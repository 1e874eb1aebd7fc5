"""Offsets committed in transactions that are still open.

Kept by producer until the transaction's marker moves them to the committed offsets or drops them. The newest
commit of a partition wins by its position in the log, not by the time of its marker. A pending offset that a
later commit has overtaken stays open (it makes the partition unstable) but has no effect. Records must
therefore be replayed in the order of the log. Changed by `OffsetStore` alone.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.group.records import CommittedOffset


class PartitionKey(NamedTuple):
    group_id: str
    topic: str
    partition: int


class _Pending(NamedTuple):
    sequence: int
    """Increases with every record: the order in the log."""
    value: CommittedOffset
    is_overtaken: bool = False


class TransactionalOffsets:
    def __init__(self) -> None:
        self._by_producer: dict[int, dict[PartitionKey, _Pending]] = {}
        self._open: dict[str, dict[PartitionKey, set[int]]] = {}
        """Group -> partition -> the producers with a pending offset. Never empty."""
        self._sequence: int = 0

    def __bool__(self) -> bool:
        """Whether any transaction is open."""
        return bool(self._open)

    def __iter__(self) -> Iterator[tuple[PartitionKey, CommittedOffset]]:
        for pendings in self._by_producer.values():
            for key, pending in pendings.items():
                yield key, pending.value

    def has_group(self, group_id: str) -> bool:
        return group_id in self._open

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        of_group = self._open.get(group_id)
        return of_group is not None and (group_id, topic, partition) in of_group

    def of_group(self, group_id: str) -> list[PartitionKey]:
        return list(self._open.get(group_id, ()))

    def put(self, producer_id: int, key: PartitionKey, value: CommittedOffset) -> None:
        self._sequence += 1
        self._by_producer.setdefault(producer_id, {})[key] = _Pending(self._sequence, value)
        self._open.setdefault(key.group_id, {}).setdefault(key, set()).add(producer_id)

    def overtake(self, key: PartitionKey, sequence: int | None = None) -> None:
        """A commit of this partition took effect: at `sequence`, or just now."""
        for producer_id in self._open.get(key.group_id, {}).get(key, ()):
            pendings = self._by_producer[producer_id]
            pending = pendings[key]
            if sequence is None or pending.sequence < sequence:
                pendings[key] = pending._replace(is_overtaken=True)

    def discard(self, key: PartitionKey) -> None:
        """The offset was deleted, and pending offsets of transactions with it."""
        for producer_id in self._open.get(key.group_id, {}).get(key, set()).copy():
            self._close(producer_id, key)

    def end(self, producer_id: int, *, is_commit: bool) -> list[tuple[PartitionKey, CommittedOffset]]:
        """End the transaction. Returns the offsets that take effect."""
        taking_effect: list[tuple[PartitionKey, CommittedOffset]] = []
        for key, pending in list(self._by_producer.get(producer_id, {}).items()):
            self._close(producer_id, key)
            if is_commit and not pending.is_overtaken:
                taking_effect.append((key, pending.value))
                self.overtake(key, pending.sequence)
        return taking_effect

    def _close(self, producer_id: int, key: PartitionKey) -> None:
        pendings = self._by_producer[producer_id]
        del pendings[key]
        if not pendings:
            del self._by_producer[producer_id]
        of_group = self._open[key.group_id]
        of_group[key].discard(producer_id)
        if not of_group[key]:
            del of_group[key]
            if not of_group:
                del self._open[key.group_id]
