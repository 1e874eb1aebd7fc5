"""The batches that producers may still repeat, read from the end of the log when it is opened.

A snapshot keeps the last batch of each producer, as in Kafka. But a producer whose broker went away repeats
all it had in flight, up to five batches, some of which are in the log: known only by the last one, the others
would be refused as out of order, which is fatal to an idempotent producer. So the rest is looked up: headers
only, of the last two megabytes at most, and only in a log that knows producers.
"""

from collections import deque

from barnabas.records.batch import BatchHeader
from barnabas.storage.batch_scan import iter_file_headers
from barnabas.storage.producer_entry import RETAINED_BATCHES, BatchMetadata
from barnabas.storage.producer_state import ProducerStates
from barnabas.storage.segment import Segment
from barnabas.storage.segments import Segments

_TAIL = 1 << 20
"""How far back to look in each of the last two segments, before the index's granularity."""


def recall_batches(states: ProducerStates, segments: Segments) -> None:
    """Complete the retained batches of every producer whose last one is found at the end of the log."""
    entries = states.entries
    if not entries:
        return
    found: dict[int, deque[BatchMetadata]] = {}
    for segment in list(segments)[-2:]:
        for header in _headers_at_the_end(segment):
            entry = entries.get(header.producer_id)
            if entry is not None and header.producer_epoch == entry.epoch and not header.is_control:
                batches = found.setdefault(header.producer_id, deque(maxlen=RETAINED_BATCHES))
                batches.append(_metadata_of(header))
    for producer_id, batches in found.items():
        entry = entries[producer_id]
        if entry.batches and entry.batches[-1] == batches[-1] and len(batches) > len(entry.batches):
            entry.batches = batches


def _headers_at_the_end(segment: Segment) -> list[BatchHeader]:
    start = segment.index.boundary_before(max(0, segment.size - _TAIL))
    return [header for _, header in iter_file_headers(segment.file, max(start, 0), segment.size)]


def _metadata_of(header: BatchHeader) -> BatchMetadata:
    return BatchMetadata(
        header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp
    )
