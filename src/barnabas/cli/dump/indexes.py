"""Reads the entries of index files, and compares them with their log.

Unlike `storage.offset_index`, which rejects a file that does not match its log, this reads any content. A
preallocated file ends in zeros: an entry with the base offset, after the first entry, marks the end.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.segment_file import SegmentFile, read_whole
from barnabas.storage import names

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


@dataclass(frozen=True, slots=True)
class IndexFile:
    """An index of either kind: pairs of (offset, position), or of (timestamp, offset)."""

    path: str
    base_offset: int
    length: int
    entries: list[tuple[int, int]]
    stored: int
    """The number of entries that fit into the file, zeros at the end included."""
    is_time: bool

    @property
    def last_offset(self) -> int:
        """The last entry, zeros or not. Kafka's sanity check reads this one."""
        if self.stored > len(self.entries) or not self.entries:
            return self.base_offset
        return self.entries[-1][1 if self.is_time else 0]

    def check(self) -> None:
        """The check of a starting broker. Raises `Unreadable` if a broker would rebuild the file."""
        path = str(Path(self.path).absolute())
        if self.is_time:
            self._check_times(path)
            size, name = _TIME_ENTRY.size, "Time index file"
        else:
            if self.stored and self.last_offset < self.base_offset:
                raise Unreadable(
                    f"Corrupt index found, index file {path} has non-zero size but the last offset is "
                    f"{self.last_offset} which is less than the base offset {self.base_offset}"
                )
            size, name = _OFFSET_ENTRY.size, "Index file"
        if self.length % size:
            raise Unreadable(
                f"{name} {path} is corrupt, found {self.length} bytes which is neither positive "
                f"nor a multiple of {size}"
            )

    def _check_times(self, path: str) -> None:
        if not self.stored:
            return
        start = f"Corrupt time index found, time index file ({path}) has non-zero size but the last "
        first = self.entries[0][0]
        last = 0 if self.stored > len(self.entries) else self.entries[-1][0]
        if last < first:
            raise Unreadable(f"{start}timestamp is {last} which is less than the first timestamp {first}")
        if self.last_offset < self.base_offset:
            raise Unreadable(
                f"{start}offset is {self.last_offset} which is less than the first offset {self.base_offset}"
            )


def read_offset_index(path: str, base_offset: int) -> IndexFile:
    data = read_whole(path)
    entries: list[tuple[int, int]] = []
    whole = len(data) // _OFFSET_ENTRY.size
    for relative, position in _OFFSET_ENTRY.iter_unpack(data[: whole * _OFFSET_ENTRY.size]):
        if relative == 0 and entries:
            break
        entries.append((base_offset + relative, position))
    return IndexFile(path, base_offset, len(data), entries, whole, is_time=False)


def read_time_index(path: str, base_offset: int) -> IndexFile:
    data = read_whole(path)
    entries: list[tuple[int, int]] = []
    whole = len(data) // _TIME_ENTRY.size
    for timestamp, relative in _TIME_ENTRY.iter_unpack(data[: whole * _TIME_ENTRY.size]):
        if relative == 0 and entries:
            break
        entries.append((timestamp, base_offset + relative))
    return IndexFile(path, base_offset, len(data), entries, whole, is_time=True)


@dataclass(slots=True)
class TimeIndexErrors:
    """(indexed value, value in the log) of each wrong entry."""

    mismatches: list[tuple[int, int]] = field(default_factory=list)
    out_of_order: list[tuple[int, int]] = field(default_factory=list)
    not_found: list[tuple[int, int]] = field(default_factory=list)


def offset_mismatches(index: IndexFile, log: SegmentFile, limit: int) -> Iterator[tuple[int, int, int]]:
    """(offset, position, last offset of the batch there) of every entry, right or wrong."""
    for offset, position in index.entries:
        yield offset, position, log.last_offset_at(position, limit)


def check_times(
    index: IndexFile, offsets: IndexFile | None, log: SegmentFile, errors: TimeIndexErrors
) -> Iterator[tuple[int, int]]:
    """(timestamp, offset) of every entry. Wrong entries go to `errors`."""
    keys = [offset for offset, _ in offsets.entries] if offsets else []
    previous = -1
    for timestamp, offset in index.entries:
        slot = bisect_right(keys, offset)
        position = offsets.entries[slot - 1][1] if offsets and slot else 0
        batch = log.find_batch(position, offset)
        if batch is None:
            errors.not_found.append((offset, -1))
        elif batch.last_offset != offset:
            errors.not_found.append((offset, batch.last_offset))
        else:
            latest = batch.latest_timestamp()
            if latest != timestamp:
                errors.mismatches.append((timestamp, latest))
            if previous >= timestamp:
                errors.out_of_order.append((timestamp, previous))
        yield timestamp, offset
        previous = timestamp


def neighbour(path: str, suffix: str) -> str:
    """The file of the same segment with another suffix."""
    directory, slash, name = path.rpartition("/")
    return f"{directory}{slash}{name.partition('.')[0]}{suffix}"


def base_offset_of(path: str) -> int:
    name = path.rpartition("/")[2]
    offset = names.offset_of(name)
    if offset is None:
        raise Unreadable(f'The name of {path} does not begin with an offset: "{name.partition(".")[0]}"')
    return offset
