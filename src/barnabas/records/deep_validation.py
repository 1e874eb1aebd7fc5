"""The path of a produced batch that has to be unpacked: to be checked record by record, or to be changed.

Three parts, in this order: `unpack` and `pack` spend their time in the codecs, which release the GIL, and
go to a thread; `scan` is done in steps. `finish` gives what is to be stored. `run` does all of it at once,
`run_if_small` only what takes about a millisecond.

What Kafka's LogValidator does: the max timestamp of the header becomes that of the records (-1 if they have
none), a record without a key is refused on a compacted topic, one with a timestamp out of bounds on any.
"""

from dataclasses import dataclass

from barnabas.base.errors import InvalidRecord, MessageTooLarge
from barnabas.records.batch import (
    CODEC_MASK,
    HEADER,
    HEADER_SIZE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    Buffer,
)
from barnabas.records.builder import assemble, encode_records
from barnabas.records.compression import CODEC_NAMES, NONE, compress, unknown_codec
from barnabas.records.record import decode_payload, unpack, unpack_view
from barnabas.records.record_scan import MOST_ERRORS, RecordScan
from barnabas.records.rejected_records import InvalidRecords, InvalidTimestamps
from barnabas.records.validation_policy import KEEP_CODEC, ValidationPolicy

_SMALL_BATCH = 64 * 1024
_SMALL_COUNT = 1000
_SMALL_PAYLOAD = 256 * 1024
_SMALL_PACKED = 16 * 1024
"""Unpacked bytes that are compressed at once: at the highest levels that is slow."""
_MOST_RENUMBERED = 10_000
"""No client numbers records otherwise than from 0; Kafka still gives them other offsets."""

_new_tuple = tuple.__new__


@dataclass(slots=True)
class ValidatedRecords:
    """Bytes fit to be stored once base offset and leader epoch are written into them."""

    batches: list[BatchHeader]
    buffer: Buffer
    record_count: int
    max_timestamp: int
    offset_of_max_timestamp: int
    """Relative to the base offset. Like Kafka's time index, that of the batch's last record."""
    log_append_time: int


class UnpackingDeferred(Exception):
    """A batch has to be unpacked and is too large for that to be done at once: `validation` is to be run."""

    def __init__(self, validation: "DeepValidation") -> None:
        super().__init__()
        self.validation: DeepValidation = validation


class DeepValidation:
    def __init__(self, records: Buffer, header: BatchHeader, policy: ValidationPolicy, now_ms: int) -> None:
        codec = header.compression
        if codec >= len(CODEC_NAMES):
            raise unknown_codec(codec)
        target = policy.target_codec
        # Markers stay uncompressed, whatever the topic says (as in Kafka).
        if target == KEEP_CODEC or (header.is_control and codec == NONE):
            target = codec
        self.records: bytes | memoryview = records if isinstance(records, bytes) else memoryview(records)
        self._header: BatchHeader = header
        self._policy: ValidationPolicy = policy
        self._target: int = target
        self._earliest: int = now_ms - policy.before_max_ms
        self._latest: int = now_ms + policy.after_max_ms
        self._payload: Buffer = b""
        self._scan: RecordScan | None = None
        self._packed: Buffer | None = None
        """The records as they are to be stored; None: as they came."""
        self._max_timestamp: int = header.max_timestamp

    def run(self, now_ms: int) -> ValidatedRecords:
        self._begin_scan(unpack(self.records, self._header, limit=self._policy.unpacked_limit))
        return self._finish_scanned(now_ms)

    def run_if_small(self, now_ms: int) -> ValidatedRecords | None:
        """Do it here and now if that is quick; None if it is not."""
        header, policy = self._header, self._policy
        if header.size > _SMALL_BATCH or header.record_count > _SMALL_COUNT:
            return None
        limit = min(
            _SMALL_PAYLOAD if self._target == header.compression else _SMALL_PACKED, policy.unpacked_limit
        )
        try:
            payload = unpack(self.records, header, limit=limit)
        except MessageTooLarge:
            return None
        if len(payload) > limit:
            return None
        self._begin_scan(payload)
        return self._finish_scanned(now_ms)

    def keep(self) -> None:
        """Take a copy of the batch: the buffer it came in is needed for the next request."""
        self.records = bytes(self.records)

    def unpack(self) -> None:
        self._begin_scan(unpack_view(self.records, self._header, self._policy.unpacked_limit))

    def _begin_scan(self, payload: Buffer) -> None:
        header, policy = self._header, self._policy
        self._payload = payload
        # Batches that claim LogAppendTime are judged by that claim as a whole (see _untimely).
        if policy.uses_append_time or header.attributes & TIMESTAMP_TYPE_MASK:
            self._scan = RecordScan(payload, header, needs_keys=policy.compact)
        else:
            earliest, latest = self._earliest, self._latest
            self._scan = RecordScan(
                payload, header, earliest=earliest, latest=latest, needs_keys=policy.compact
            )

    def _finish_scanned(self, now_ms: int) -> ValidatedRecords:
        self.scan(self._header.record_count)
        if self.must_pack:
            self.pack()
        return self.finish(now_ms)

    def scan(self, most: int) -> bool:
        """Check `most` further records; says whether all are checked. Raises with those to be refused."""
        scan = self._scan
        assert scan is not None
        is_finished = scan.step(most)
        if not scan.is_numbered and self._header.record_count > _MOST_RENUMBERED:
            raise InvalidRecord("the offsets of the records do not run from 0")
        if not is_finished:
            return False
        self._refuse(scan)
        self._max_timestamp = scan.max_timestamp
        return True

    @property
    def must_pack(self) -> bool:
        """Whether the topic wants another codec, or the offsets of the records have to be changed."""
        assert self._scan is not None
        return self._target != self._header.compression or not self._scan.is_numbered

    def pack(self) -> None:
        """Compress the records anew."""
        scan, header = self._scan, self._header
        assert scan is not None
        payload = self._payload
        if not scan.is_numbered:
            decoded = decode_payload(bytes(payload), header)
            payload = encode_records(decoded, range(len(decoded)), header.base_timestamp)
        self._packed = compress(self._target, payload, self._policy.level_of(self._target))
        size = HEADER_SIZE + len(self._packed)
        if size > self._policy.max_message_bytes:
            raise too_large(size, self._policy)

    def release(self) -> None:
        """Let go of the unpacked records."""
        self._payload, self._scan = b"", None

    def finish(self, now_ms: int) -> ValidatedRecords:
        """What is to be stored; `now_ms` is the timestamp with LogAppendTime."""
        return changed_batch(
            self.records, self._packed, self._header, self._policy, self._target, self._max_timestamp, now_ms
        )

    def _refuse(self, scan: RecordScan) -> None:
        """Raise with every record that lacks a key it needs or whose timestamp is refused."""
        reason = "a compacted topic takes no record without a key"
        keyless = dict.fromkeys(scan.keyless, reason)
        untimely = self._untimely(scan)
        # As in Kafka: a missing key hides the record's timestamp, that of another record decides the code.
        if untimely.keys() - keyless.keys():
            errors = sorted((untimely | keyless).items())
            raise InvalidTimestamps("one or more records have an invalid timestamp", errors)
        if keyless:
            message = f"{len(keyless)} of {self._header.record_count} records have no key"
            raise InvalidRecords(message, list(keyless.items()))

    def _untimely(self, scan: RecordScan) -> dict[int, str]:
        bounds = f"is not within [{self._earliest}, {self._latest}]"
        if not self._header.attributes & TIMESTAMP_TYPE_MASK:
            return {number: f"timestamp {timestamp} {bounds}" for number, timestamp in scan.untimely}
        claimed = self._header.max_timestamp
        if self._policy.uses_append_time or claimed == NO_TIMESTAMP:
            reason = "LogAppendTime is not a producer's to set"
        elif not self._earliest <= claimed <= self._latest:
            reason = f"timestamp {claimed} {bounds}"
        else:
            return {}
        return dict.fromkeys(range(min(scan.number, MOST_ERRORS)), reason)


def changed_batch(
    records: Buffer,
    packed: Buffer | None,
    header: BatchHeader,
    policy: ValidationPolicy,
    codec: int,
    max_timestamp: int,
    now_ms: int,
) -> ValidatedRecords:
    """The batch with another header, and with `packed` instead of its records if they are replaced."""
    append_time = policy.uses_append_time
    changed = header._replace(
        attributes=header.attributes & ~(CODEC_MASK | TIMESTAMP_TYPE_MASK)
        | codec
        | (TIMESTAMP_TYPE_MASK if append_time else 0),
        max_timestamp=now_ms if append_time else max_timestamp,
    )
    buffer = records
    if packed is not None:
        buffer = assemble(changed, packed)
    elif changed != header:
        buffer = assemble(changed, memoryview(records)[HEADER_SIZE:])
    stored = _new_tuple(BatchHeader, HEADER.unpack_from(buffer))
    return ValidatedRecords(
        [stored],
        buffer,
        stored.record_count,
        stored.max_timestamp,
        stored.last_offset_delta,
        now_ms if append_time else -1,
    )


def too_large(size: int, policy: ValidationPolicy) -> MessageTooLarge:
    return MessageTooLarge(f"a batch of {size} bytes exceeds the topic's {policy.max_message_bytes}")
