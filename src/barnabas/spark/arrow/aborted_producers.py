"""Which batches of a fetch belong to aborted transactions, found as Kafka's consumer does.

A Fetch with `read_committed` lists the aborted transactions that touch its range: producer id and first
offset. Walking the batches in order, a producer is aborted from that offset on until its abort marker. A
producer may be listed several times, so the walk must see every batch of the fetch, in order, once.
"""

from collections.abc import Sequence

from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.control import ABORT, read_usual_marker
from barnabas.records.record import decode_records


class AbortedProducers:
    """The producers whose open transaction, at this point of the walk, ends in an abort."""

    def __init__(self, listed: Sequence[tuple[int, int]]) -> None:
        # The earliest transaction comes last, where it is cheap to take away.
        self._to_come: list[tuple[int, int]] = sorted(listed, key=lambda entry: entry[1], reverse=True)
        self._aborted: set[int] = set()

    def drops(self, header: BatchHeader, batch: Buffer) -> bool:
        """Take the next batch of the walk; True if its records were never committed."""
        if not header.has_producer_id:
            return False
        while self._to_come and self._to_come[-1][1] <= header.last_offset:
            self._aborted.add(self._to_come.pop()[0])
        if header.producer_id not in self._aborted:
            return False
        if header.is_control:
            if is_abort_marker(header, batch):
                self._aborted.discard(header.producer_id)
            return False
        return header.is_transactional


def is_abort_marker(header: BatchHeader, batch: Buffer) -> bool:
    """Whether this control batch aborts. One that compaction emptied says nothing any more."""
    usual = read_usual_marker(batch)
    if usual is not None:
        return not usual[0]
    if header.record_count == 0:
        return False
    key = decode_records(batch)[0].key
    return key is not None and len(key) >= 4 and int.from_bytes(key[2:4], "big", signed=True) == ABORT
