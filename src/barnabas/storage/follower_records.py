"""What a follower checks in the bytes it fetched: whole batches, good checksums, ascending offsets."""

from dataclasses import dataclass

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.base.filesystem import Buffer
from barnabas.records.batch import BatchHeader, crc_is_valid, iter_headers


class UnexpectedOffset(InvalidRecord):
    """A batch does not follow the log. The offsets are those of the batch."""

    def __init__(self, message: str, base_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.base_offset: int = base_offset
        self.last_offset: int = last_offset


@dataclass(frozen=True, slots=True)
class FollowerRecords:
    buffer: memoryview
    batches: list[tuple[int, BatchHeader]]
    max_timestamp: int

    @property
    def base_offset(self) -> int:
        return self.batches[0][1].base_offset

    @property
    def last_offset(self) -> int:
        return self.batches[-1][1].last_offset

    @property
    def size(self) -> int:
        return len(self.buffer)


def read_follower_records(records: Buffer, log_end_offset: int) -> FollowerRecords | None:
    """The whole batches of `records`; a cut one at the end is ignored. None if there is no whole batch."""
    batches = []
    end, expected, max_timestamp = 0, log_end_offset, -1
    for position, header in iter_headers(records, allow_partial=True):
        if not crc_is_valid(records, position, header):
            raise CorruptMessage(f"the batch at offset {header.base_offset} has a wrong checksum")
        if header.base_offset < expected:
            raise UnexpectedOffset(
                f"a batch at offset {header.base_offset} came where {expected} was due",
                header.base_offset,
                header.last_offset,
            )
        batches.append((position, header))
        end, expected = position + header.size, header.next_offset
        max_timestamp = max(max_timestamp, header.max_timestamp)
    if not batches:
        return None
    return FollowerRecords(memoryview(records)[:end], batches, max_timestamp)
