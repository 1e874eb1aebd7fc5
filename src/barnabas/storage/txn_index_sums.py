"""`txn-index-checkpoint` of a log directory: what the indexes of aborted transactions held at a clean stop.

Kafka's format of the index has no checksum, and a missing file looks like a segment without aborted
transactions. So a clean stop writes for every log how many entries each index had and their CRC-32C. The
loader compares, and rebuilds an index that differs. A log without a line is believed as it is, as in Kafka:
one that another broker wrote, or one that was not opened since.

Format: that of `checkpoints.py`, a line per log: `<topic> <partition>`, and for each segment with aborted
transactions ` <base offset>:<entries>:<CRC-32C>`.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from crc32c import crc32c

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.checkpoints import MalformedCheckpoint, decode_lines, encode_lines
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.segments import Segments
from barnabas.storage.txn_index import AbortedTxn, encode

TXN_INDEX_SUMS = "txn-index-checkpoint"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexSum:
    """Number of entries and their checksum."""

    entries: int
    crc: int


NO_ENTRIES = IndexSum(0, 0)
LogSums: TypeAlias = Mapping[int, IndexSum]
"""By base offset, of the segments with aborted transactions."""


def sum_of(entries: list[AbortedTxn]) -> IndexSum:
    return IndexSum(len(entries), crc32c(encode(entries))) if entries else NO_ENTRIES


def sums_of(segments: Segments) -> LogSums | None:
    """The sums of a log that is being closed; None if an index of it cannot be read."""
    try:
        found = {segment.base_offset: sum_of(segment.txn_index.entries) for segment in segments}
    except (CorruptIndex, OSError) as error:
        _logger.warning("the indexes of aborted transactions are not summed up: %s", error)
        return None
    return {base_offset: each for base_offset, each in found.items() if each.entries}


def read_sums(fs: FileSystem, directory: Path) -> dict[TopicPartition, LogSums]:
    """What the last clean stop wrote; lines that cannot be read are left out."""
    path = directory / TXN_INDEX_SUMS
    try:
        lines = decode_lines(fs.read_bytes(path), path)
    except FileNotFoundError:
        return {}
    except MalformedCheckpoint as error:
        _logger.warning("indexes of aborted transactions are not compared: %s", error)
        return {}
    found: dict[TopicPartition, LogSums] = {}
    for line in lines:
        try:
            topic, partition, *segments = line.split(" ")
            found[TopicPartition(topic, int(partition))] = dict(map(_parse, segments))
        except ValueError:
            _logger.warning("%s: the line %r is damaged; the indexes are not compared", path, line[:300])
    return found


def _parse(text: str) -> tuple[int, IndexSum]:
    base_offset, entries, crc = map(int, text.split(":"))
    return base_offset, IndexSum(entries, crc)


def write_sums(fs: FileSystem, directory: Path, sums: Mapping[TopicPartition, LogSums]) -> None:
    fs.write_atomically(directory / TXN_INDEX_SUMS, encode_lines(map(_line, sums.items())))


def _line(item: tuple[TopicPartition, LogSums]) -> str:
    (topic, partition), sums = item
    each = (f" {base_offset}:{found.entries}:{found.crc}" for base_offset, found in sums.items())
    return f"{topic} {partition}{''.join(each)}"
