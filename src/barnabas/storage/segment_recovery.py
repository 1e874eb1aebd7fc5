"""Recovery of one segment: believe nothing but batches that are whole, rebuild what is derived from them."""

import logging
from dataclasses import dataclass

from barnabas.records.batch import BatchHeader
from barnabas.storage import names
from barnabas.storage.batch_scan import VerifiedScan
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.producer_state import ProducerStates, read_marker
from barnabas.storage.segment import MAX_RELATIVE_OFFSET, Segment
from barnabas.storage.txn_index import AbortedTxn

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecoveredSegment:
    bytes_cut: int
    next_offset: int
    was_compacted: bool
    """Offsets are missing between its batches or in them, so some may be missing at its end as well."""


def recover_segment(
    segment: Segment, producers: ProducerStates, leader_epochs: LeaderEpochs
) -> RecoveredSegment:
    """Scan the segment, cut it behind its last good batch, make its indexes anew.

    The indexes stay in memory, the caller writes those of a sealed segment: the files of an active one may be
    from a clean stop, with nothing new behind it, and must not be put at risk.

    `producers` come as of the segment's base offset and leave as of its end; `leader_epochs` learn.
    """
    segment.start_indexes()
    segment.is_synced = False
    aborted: list[AbortedTxn] = []
    scan = VerifiedScan(segment.file, segment.size, segment.base_offset)
    valid_bytes, next_offset, was_compacted = 0, segment.base_offset, False
    for position, header, batch in scan:
        if header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            scan.flaw = f"offset {header.last_offset} is too far from the segment's base offset"
            break
        size = header.size
        segment.note_batch(header.base_offset, header.last_offset, position, size, header.max_timestamp)
        if header.partition_leader_epoch > leader_epochs.latest_epoch:
            leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            aborted += _apply(producers, header, batch)
        was_compacted |= (
            header.base_offset != next_offset or header.record_count != header.last_offset_delta + 1
        )
        producers.end_offset = next_offset = header.next_offset
        valid_bytes = position + size
    cut = segment.size - valid_bytes
    if cut:
        _logger.warning(
            "cutting the last %d bytes of %s at %d: %s", cut, segment.path(names.LOG), valid_bytes, scan.flaw
        )
        segment.cut(valid_bytes)
    segment.seal_time_index()
    segment.txn_index.replace(aborted)
    return RecoveredSegment(cut, next_offset, was_compacted)


def _apply(producers: ProducerStates, header: BatchHeader, batch: memoryview) -> list[AbortedTxn]:
    """Let the producers learn from a batch; gives the transaction that it aborts, if it does."""
    marker = read_marker(batch) if header.is_control else None
    txn = producers.apply(header, header.base_offset, marker)
    if txn is None:
        return []
    stable = producers.last_stable_offset_after(txn)
    producers.complete(txn)
    return [AbortedTxn(txn.producer_id, txn.first_offset, txn.last_offset, stable)] if txn.is_abort else []
