"""Errors that name the records for which a batch is refused (KIP-467)."""

from barnabas.base.errors import InvalidRecord, InvalidTimestamp, KafkaError


class RejectedRecords(KafkaError):
    """A batch refused for some of its records; `record_errors` are (index in the batch, reason)."""

    def __init__(self, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(message)
        self.record_errors: list[tuple[int, str]] = record_errors


class InvalidRecords(RejectedRecords, InvalidRecord):
    """INVALID_RECORD with the records concerned."""

    code = InvalidRecord.code


class InvalidTimestamps(RejectedRecords, InvalidTimestamp):
    """INVALID_TIMESTAMP with the records concerned."""

    code = InvalidTimestamp.code
