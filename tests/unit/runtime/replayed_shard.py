"""A shard that keeps the records it replays, by Kafka's rules for offsets, and batches to replay."""

from collections.abc import Sequence

from barnabas.group.record_codec import encode_record
from barnabas.group.records import (
    ClassicGroupMetadata,
    ClassicGroupValue,
    CommittedOffset,
    GroupRecord,
    OffsetCommit,
)
from barnabas.records.builder import build_batch
from barnabas.records.control import build_end_marker
from barnabas.records.record import Record

NOW = 1_600_000_000_000
OffsetKey = tuple[str, str, int]


class ReplayedShard:
    """Replays records in the given order. The newest commit is the one that was replayed last."""

    def __init__(self) -> None:
        self.records: list[tuple[GroupRecord, int]] = []
        self.groups: dict[str, ClassicGroupValue] = {}
        self.offsets: dict[OffsetKey, tuple[int, CommittedOffset]] = {}
        self.pending: dict[int, dict[OffsetKey, tuple[int, CommittedOffset]]] = {}

    def replay(self, record: GroupRecord, *, producer_id: int = -1) -> None:
        self.records.append((record, producer_id))
        if isinstance(record, ClassicGroupMetadata):
            self.groups.pop(record.group_id, None)
            if record.value is not None:
                self.groups[record.group_id] = record.value
            return
        assert isinstance(record, OffsetCommit)
        key = (record.group_id, record.topic, record.partition)
        if record.value is None:
            self.offsets.pop(key, None)
            for pending in self.pending.values():
                pending.pop(key, None)
        elif producer_id < 0:
            self.offsets[key] = (len(self.records), record.value)
        else:
            self.pending.setdefault(producer_id, {})[key] = (len(self.records), record.value)

    def end(self, producer_id: int, *, commit: bool) -> None:
        pending = self.pending.pop(producer_id, {})
        for key, (sequence, value) in pending.items() if commit else ():
            if sequence > self.offsets.get(key, (-1,))[0]:
                self.offsets[key] = (sequence, value)

    def committed(self) -> dict[OffsetKey, CommittedOffset]:
        return {key: value for key, (_, value) in self.offsets.items()}

    def uncommitted(self) -> dict[int, dict[OffsetKey, CommittedOffset]]:
        return {
            producer_id: {key: value for key, (_, value) in pending.items()}
            for producer_id, pending in self.pending.items()
            if pending
        }


def commit(group_id: str, offset: int | None, partition: int = 0, topic: str = "topic") -> OffsetCommit:
    """An offset commit, or its tombstone."""
    value = None if offset is None else CommittedOffset(offset, 1, "", NOW)
    return OffsetCommit(group_id, topic, partition, value)


def group(group_id: str, generation: int | None) -> ClassicGroupMetadata:
    value = None if generation is None else ClassicGroupValue("consumer", generation, None, None, NOW, ())
    return ClassicGroupMetadata(group_id, value)


def batch_of(
    records: Sequence[GroupRecord], base_offset: int = 0, *, producer_id: int = -1, compression: int = 0
) -> bytes:
    return build_batch(
        [Record(0, NOW + index, *encode_record(record)) for index, record in enumerate(records)],
        base_offset=base_offset,
        compression=compression,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
    )


def marker(producer_id: int, base_offset: int = 0, *, commit: bool) -> bytes:
    return build_end_marker(producer_id, 0, commit, 0, NOW, base_offset=base_offset)
