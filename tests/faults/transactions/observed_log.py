"""What the clients of a run know together of each partition: which value is at which offset, and whose it is.

Offsets come from acknowledgements and from polls. Whether a transaction is committed comes from its client
or, where that does not know, from the polls: one of whose values anything was seen is committed; one of which
nothing was seen when everything was read to its end is not.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from tests.faults.transactions.anomalies import Anomaly, Kind
from tests.faults.transactions.history import History, Outcome, Poll, Send, Transaction, named


class ObservedLog:
    def __init__(self, history: History) -> None:
        self.history: History = history
        self.writer_of: dict[int, tuple[Transaction, Send]] = {
            send.value: (transaction, send)
            for transaction in history.transactions
            for send in transaction.sends
        }
        self.seen: dict[int, tuple[Poll, int]] = {}
        """The first poll that was handed each value, and at which offset."""
        self.offset_of: dict[int, int] = {}
        self.value_at: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self.contradictions: list[Anomaly] = []
        for poll in self.polls():
            for key, reads in poll.reads.items():
                for offset, value in zip(reads.offsets, reads.values, strict=True):
                    self._see(poll, key, offset, value)
        for transaction, send in self.writer_of.values():
            if send.offset >= 0:
                self._put(send.key, send.offset, send.value, f"acknowledged to {transaction}")
        self._committed_offsets: dict[str, list[int]] = {}

    def polls(self) -> Iterator[Poll]:
        for steps in self.history.reading.values():
            for step in steps:
                if isinstance(step, Poll):
                    yield step

    def is_committed(self, transaction: Transaction) -> bool:
        """For certain."""
        return transaction.outcome is Outcome.COMMITTED or (
            transaction.outcome is Outcome.UNKNOWN and self.witness(transaction) is not None
        )

    def witness(self, transaction: Transaction) -> Send | None:
        """One of its values that somebody has seen."""
        return next((send for send in transaction.sends if send.value in self.seen), None)

    def offset_seen(self, send: Send) -> int:
        """Where it was polled, -1 if never."""
        return self.seen[send.value][1] if send.value in self.seen else -1

    def committed_offsets(self, key: str) -> list[int]:
        """Where the records are that no reader may pass over."""
        found = self._committed_offsets.get(key)
        if found is None:
            found = sorted(
                offset for offset, value in self.value_at[key].items() if self._is_committed_value(value)
            )
            self._committed_offsets[key] = found
        return found

    def between(self, key: str, first: int, end: int) -> list[int]:
        """The committed values from offset `first` on, before `end`."""
        offsets = self.committed_offsets(key)
        start, stop = bisect_left(offsets, first), bisect_left(offsets, end)
        return [self.value_at[key][offset] for offset in offsets[start:stop]]

    def describe(self, value: int) -> str:
        """The value with its key and offset, for people."""
        offset = self.offset_of.get(value)
        writer = self.writer_of.get(value)
        key = "" if writer is None else f" of {writer[1].key}"
        return f"{named(value)}{key}" + ("" if offset is None else f" at {offset}")

    def _is_committed_value(self, value: int) -> bool:
        writer = self.writer_of.get(value)
        return writer is not None and self.is_committed(writer[0])

    def _see(self, poll: Poll, key: str, offset: int, value: int) -> None:
        if value not in self.seen:
            self.seen[value] = poll, offset
        # Most reads repeat what is known.
        if self.offset_of.get(value) != offset or self.value_at[key].get(offset) != value:
            self._put(key, offset, value, f"polled by {poll.process} at {poll.ended:.6f}")

    def _put(self, key: str, offset: int, value: int, how: str) -> None:
        known = self.offset_of.setdefault(value, offset)
        if known != offset:
            text = f"{named(value)} is in {key} at {known} and at {offset} ({how})"
            self.contradictions.append(Anomaly(Kind.DUPLICATE, text, (value,)))
        there = self.value_at[key].setdefault(offset, value)
        if there != value:
            text = f"{key} has at {offset} {self.describe(there)} and {named(value)} ({how})"
            self.contradictions.append(Anomaly(Kind.INCONSISTENT_OFFSET, text, (there, value)))
