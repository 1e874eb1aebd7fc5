"""The dump of a `.log` or `.checkpoint` file, with the text of Kafka's DumpLogSegments.

One line per batch, followed by one line per record if requested. Text is produced batch by batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from barnabas.cli.dump.batches import Batch, CurrentBatch, OldBatch
from barnabas.cli.dump.control_records import read_control
from barnabas.cli.dump.decoders import DELETED, Decoder, text_of
from barnabas.cli.dump.segment_file import SegmentFile
from barnabas.records.batch import NO_SEQUENCE
from barnabas.records.record import Record

INDENT = "|"
_SEQUENCES = 1 << 31
_WORDS = ("false", "true")


@dataclass(frozen=True, slots=True)
class Depth:
    """How much of each batch is shown."""

    with_records: bool = False
    decoder: Decoder | None = None
    """The decoder of keys and values. None prints records without them."""
    skips_metadata: bool = False


class SegmentText:
    """The lines of one file. Afterwards `gaps` has the offsets that do not follow their predecessor."""

    def __init__(self, file: SegmentFile, depth: Depth, max_bytes: int | None = None) -> None:
        self._file: SegmentFile = file
        self._depth: Depth = depth
        self._max_bytes: int | None = max_bytes
        self._last_offset: int = -1
        self.gaps: dict[int, int] = {}

    def __iter__(self) -> Iterator[str]:
        """Whole lines, several at a time."""
        end = 0
        for batch in self._file.batches(0, self._max_bytes):
            text = batch_line(batch) + "\n"
            if self._depth.with_records:
                # Print the batch even if its records cannot be read.
                yield text
                text = self._records(batch)
            yield text
            end = batch.position + batch.size
        trailing = self._file.size - end
        if trailing > 0 and self._max_bytes is None:
            name = self._file.path.rpartition("/")[2]
            yield f"Found {trailing} invalid bytes at the end of {name}\n"

    def _records(self, batch: Batch) -> str:
        if isinstance(batch, OldBatch):
            lines = self._old_lines(batch)
        else:
            lines = self._lines(batch)
        return "\n".join(lines) + "\n" if lines else ""

    def _lines(self, batch: CurrentBatch) -> list[str]:
        records = batch.records()
        lines: list[str] = []
        header, kind = batch.header, batch.timestamp_type
        is_control = header.is_control
        decoder = None if is_control else self._depth.decoder
        skips = self._depth.skips_metadata
        sequence_base = header.base_sequence - header.base_offset if header.base_sequence >= 0 else None
        for record in records:
            offset, timestamp, key, value, headers = record
            if offset != self._last_offset + 1:
                self.gaps[self._last_offset] = offset
            self._last_offset = offset
            text = ""
            if not skips:
                sequence = NO_SEQUENCE if sequence_base is None else (sequence_base + offset) % _SEQUENCES
                names = ",".join([name for name, _ in headers]) if headers else ""
                text = (
                    f"{INDENT} offset: {offset} {kind}: {timestamp} "
                    f"keySize: {-1 if key is None else len(key)} "
                    f"valueSize: {-1 if value is None else len(value)} "
                    f"sequence: {sequence} headerKeys: [{names}]"
                )
                if is_control:
                    text += read_control(record).text
            lines.append(text + self._contents(decoder, record) if decoder is not None else text)
        return lines

    def _old_lines(self, batch: OldBatch) -> list[str]:
        lines: list[str] = []
        for record, is_valid, crc in batch.old_records():
            offset, timestamp, key, value, _ = record
            if offset != self._last_offset + 1:
                self.gaps[self._last_offset] = offset
            self._last_offset = offset
            text = ""
            if not self._depth.skips_metadata:
                text = (
                    f"{INDENT} offset: {offset} {batch.timestamp_type}: {timestamp} "
                    f"keySize: {-1 if key is None else len(key)} "
                    f"valueSize: {-1 if value is None else len(value)} "
                    f"isValid: {_WORDS[is_valid]} crc: {crc}"
                )
            decoder = self._depth.decoder
            lines.append(text + self._contents(decoder, record) if decoder is not None else text)
        return lines

    def _contents(self, decoder: Decoder, record: Record) -> str:
        key, value, is_deletion = decoder.decode(record)
        text = ""
        if key is not None:
            text = f" key: {key if type(key) is str else text_of(key)}"
        if value is not None:
            text += f" payload: {value if type(value) is str else text_of(value)}"
        elif is_deletion:
            text += f" payload: {DELETED}"
        return INDENT + text if text and self._depth.skips_metadata else text


def batch_line(batch: Batch) -> str:
    if isinstance(batch, OldBatch):
        head = f"offset: {batch.last_offset}"
    else:
        header = batch.header
        horizon = (
            f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else "OptionalLong.empty"
        )
        head = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
            f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
            f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
            f"partitionLeaderEpoch: {header.partition_leader_epoch} "
            f"isTransactional: {_WORDS[header.is_transactional]} isControl: {_WORDS[header.is_control]} "
            f"deleteHorizonMs: {horizon}"
        )
    return (
        f"{head} position: {batch.position} {batch.timestamp_type}: {batch.max_timestamp} "
        f"size: {batch.size} magic: {batch.magic} compresscodec: {batch.codec} "
        f"crc: {batch.crc} isvalid: {_WORDS[batch.is_valid]}"
    )
