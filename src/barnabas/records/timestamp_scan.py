"""The first record of a batch from an offset on that is not older than a timestamp, looked for in steps.

Records are jumped over: nothing but length, timestamp and offset is read. What cannot be read raises
`InvalidRecord`.
"""

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.records.batch import TIMESTAMP_TYPE_MASK, BatchHeader, Buffer
from barnabas.records.varint import MAX_UINT32, MAX_UINT64, decode_unsigned


class TimestampScan:
    def __init__(self, payload: Buffer, header: BatchHeader, timestamp: int, first_offset: int) -> None:
        if header.record_count < 0:
            raise InvalidRecord(f"a batch claims {header.record_count} records")
        self.found: tuple[int, int] | None = None
        """(offset, timestamp) of the record."""
        self._payload: Buffer = payload
        self._header: BatchHeader = header
        self._timestamp: int = timestamp
        self._first_delta: int = first_offset - header.base_offset
        self._number: int = 0
        self._position: int = 0

    def step(self, most: int) -> bool:
        """Read `most` further records; says whether the search is over."""
        until = min(self._header.record_count, self._number + most)
        try:
            self._read(until)
        except IndexError:
            raise InvalidRecord("a record runs off the end of its batch") from None
        except CorruptMessage as error:
            raise InvalidRecord(error.message) from error
        return self.found is not None or self._number == self._header.record_count

    def _read(self, until: int) -> None:
        payload, position, size = self._payload, self._position, len(self._payload)
        header, wanted, first_delta = self._header, self._timestamp, self._first_delta
        base_timestamp = header.base_timestamp
        append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_MASK else None
        for _ in range(self._number, until):
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT32)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            end = position + ((raw >> 1) ^ -(raw & 1))
            position += 1
            raw = payload[position]
            position += 1
            if raw > 0x7F:
                high = payload[position]
                if high > 0x7F:
                    raw, position = decode_unsigned(payload, position - 1, MAX_UINT64)
                else:
                    raw += (high << 7) - 0x80
                    position += 1
            if not position <= end <= size:
                raise InvalidRecord("a record runs off the end of its batch")
            timestamp = base_timestamp + ((raw >> 1) ^ -(raw & 1)) if append_time is None else append_time
            if timestamp >= wanted:
                raw, _ = decode_unsigned(payload, position, MAX_UINT32)
                delta = (raw >> 1) ^ -(raw & 1)
                if delta >= first_delta:
                    self.found = header.base_offset + delta, timestamp
                    return
            position = end
        self._number, self._position = until, position
