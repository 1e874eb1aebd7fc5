"""Transactions during a cleaning, oldest batch first: which data is aborted, which marker can be removed.

Kafka's rules: records of an aborted transaction are removed at once. Its marker, and its entry in the index
of aborted transactions, stay as long as a batch of it was met; later a marker gets a delete horizon like a
tombstone. The marker of a commit is removed when no batch of its transaction is left before it.
"""

from collections import deque
from collections.abc import Iterable
from struct import Struct, error

from barnabas.base.errors import InvalidRecord
from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.record import decode_records
from barnabas.storage.txn_index import AbortedTxn

_KEY = Struct(">hh")
_ABORT, _COMMIT = 0, 1


class CleanedTransactions:
    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        self._ahead: deque[AbortedTxn] = deque(sorted(set(aborted), key=lambda txn: txn.first_offset))
        self._aborting: dict[int, AbortedTxn] = {}
        self._met: set[int] = set()
        """Producers of `_aborting` of which a batch was met."""
        self._committing: set[int] = set()
        self.retained_aborts: list[AbortedTxn] = []
        """What the index of aborted transactions still needs; its writer takes them from here."""

    def is_aborted(self, header: BatchHeader) -> bool:
        """Note a batch of records; whether it belongs to an aborted transaction."""
        self._reach(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborting:
            self._met.add(header.producer_id)
            return True
        self._committing.add(header.producer_id)
        return False

    def is_discardable(self, header: BatchHeader, batch: Buffer) -> bool:
        """Note a control batch; whether nothing is left that needs it."""
        self._reach(header.last_offset)
        if header.record_count == 0:
            return True
        try:
            _, kind = _KEY.unpack_from(decode_records(batch)[0].key or b"")
        except error as reason:
            raise InvalidRecord(f"unreadable control record: {reason}") from None
        if kind == _ABORT:
            txn = self._aborting.pop(header.producer_id, None)
            if txn is not None and header.producer_id in self._met:
                self._met.discard(header.producer_id)
                self.retained_aborts.append(txn)
                return False
            return True
        if kind == _COMMIT:
            if header.producer_id in self._committing:
                self._committing.discard(header.producer_id)
                return False
            return True
        return False

    def _reach(self, offset: int) -> None:
        ahead = self._ahead
        while ahead and ahead[0].first_offset <= offset:
            txn = ahead.popleft()
            self._aborting.setdefault(txn.producer_id, txn)
