"""A record as the model expects it in a partition, and as a consumer found it there."""

from dataclasses import dataclass

from barnabas.records.record import Record, RecordHeaders


@dataclass(frozen=True, slots=True)
class StoredRecord:
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: RecordHeaders
    appended_ms: int
    transaction: int = -1
    """Number of the transaction that wrote it; -1 for none."""

    @property
    def age_counts_from(self) -> int:
        """What retention compares: the timestamp, or the file's age for a record without one."""
        return self.timestamp if self.timestamp >= 0 else self.appended_ms

    def is_same(self, found: Record) -> bool:
        return (self.key, self.value, self.timestamp, self.headers) == (
            found.key,
            found.value,
            found.timestamp,
            tuple(found.headers),
        )
