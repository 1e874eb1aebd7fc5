"""`index-checkpoint` of a log directory: what the index files of its logs held at a clean stop.

Kafka's formats of the indexes have no checksum: a missing index of aborted transactions looks like a segment
without any, a cut time index like one of older records, and a flipped bit of an offset index leads into the
middle of a batch. So a clean stop writes a CRC-32C of each file for every segment. When a log is opened its
indexes of aborted transactions are compared, and the other two when they are first read; what differs is
rebuilt from the log. After a crash that holds for segments that the last clean stop found sealed. A log
without a line, or a file that was neither written nor read since the start, is used as it is, as in Kafka.

Format: that of `checkpoints.py`, a line per log: `<topic> <partition>`, and for each segment with records
` <base offset>:<aborted transactions>:<their CRC>:<CRC of the offset index>:<CRC of the time index>`, where
the last two are -1 if they are not known. A line is parsed when its log is opened.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from crc32c import crc32c

from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.checkpoints import MalformedCheckpoint, decode_lines, encode_lines
from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.segment import Segment
from barnabas.storage.segments import Segments
from barnabas.storage.txn_index import AbortedTxn, encode

INDEX_SUMS = "index-checkpoint"
_UNKNOWN = (-1, -1)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TxnIndexSum:
    """Number of aborted transactions and the checksum of their entries."""

    entries: int
    crc: int


@dataclass(frozen=True, slots=True)
class SegmentSums:
    aborted: TxnIndexSum
    indexes: tuple[int, int] | None
    """Of the offset index and the time index; None: not known."""


NO_ENTRIES = TxnIndexSum(0, 0)
NO_SUMS = SegmentSums(NO_ENTRIES, None)
LogSums: TypeAlias = dict[int, SegmentSums]
"""By the base offsets of segments, in their order."""


def sum_of(entries: list[AbortedTxn]) -> TxnIndexSum:
    return TxnIndexSum(len(entries), crc32c(encode(entries))) if entries else NO_ENTRIES


def line_of(segments: Segments) -> str | None:
    """The segments of a log that is being closed; None if an index of it cannot be read."""
    try:
        return " ".join(_text(segment) for segment in segments if segment.size)
    except (CorruptIndex, OSError) as error:
        _logger.warning("Cannot compute the index checksums of %s: %s", segments.first.directory, error)
        return None


def _text(segment: Segment) -> str:
    aborted = sum_of(segment.txn_index.entries)
    index, time_index = segment.index_sums or _UNKNOWN
    return f"{segment.base_offset}:{aborted.entries}:{aborted.crc}:{index}:{time_index}"


def parse_line(text: str, directory: Path) -> LogSums | None:
    """What `line_of` wrote; None if it is damaged."""
    try:
        return dict(map(_parse, text.split()))
    except ValueError:
        _logger.warning(
            "%s: the index checksums are not verified, the line %r of %s is damaged",
            directory,
            text[:300],
            INDEX_SUMS,
        )
        return None


def _parse(text: str) -> tuple[int, SegmentSums]:
    base_offset, entries, crc, *indexes = map(int, text.split(":"))
    index, time_index = indexes
    known = None if index < 0 or time_index < 0 else (index, time_index)
    return base_offset, SegmentSums(TxnIndexSum(entries, crc), known)


def noted_indexes(
    sums: LogSums | None, base_offset: int, config: LogConfig, *, clean: bool
) -> tuple[int, int] | None:
    """What the offset index and the time index of a segment must sum up to; None: not known.

    After a crash only segments that were sealed at the last clean stop count, and none of a log that may have
    been compacted since: its indexes are newer, and rebuilding them costs reading the segment.
    """
    if not sums or not (clean or (base_offset < next(reversed(sums)) and not config.cleanup_compact)):
        return None
    return sums.get(base_offset, NO_SUMS).indexes


def read_sums(fs: FileSystem, directory: Path) -> dict[TopicPartition, str]:
    """The lines of the last clean stop by their logs; those that cannot be read are left out."""
    path = directory / INDEX_SUMS
    try:
        lines = decode_lines(fs.read_bytes(path), path)
    except FileNotFoundError:
        return {}
    except MalformedCheckpoint as error:
        _logger.warning("Index checksums are not verified: %s", error)
        return {}
    found: dict[TopicPartition, str] = {}
    for line in lines:
        try:
            topic, partition, *segments = line.split(" ", 2)
            found[TopicPartition(topic, int(partition))] = segments[0] if segments else ""
        except ValueError:
            _logger.warning(
                "%s: the line %r is damaged; the index checksums of its log are not verified",
                path,
                line[:300],
            )
    return found


def write_sums(fs: FileSystem, directory: Path, sums: Mapping[TopicPartition, str]) -> None:
    lines = (f"{topic} {partition} {text}".rstrip() for (topic, partition), text in sums.items())
    fs.write_atomically(directory / INDEX_SUMS, encode_lines(lines))
