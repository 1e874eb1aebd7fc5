"""Errors of records. All other errors are those of `barnabas.client.errors`."""

from uuid import UUID

from barnabas.base.ids import encode_uuid
from barnabas.client.errors import BrokerError, ClientError

_OFFSET_OUT_OF_RANGE, _MESSAGE_TOO_LARGE = 1, 10


class OffsetOutOfRange(BrokerError):
    """The partition has no such offset: it was deleted, or the partition is shorter than it once was."""

    def __init__(self, topic: str, partition: int, requested: int, log_start: int, end: int) -> None:
        self.topic: str = topic
        self.partition: int = partition
        self.requested: int = requested
        self.log_start: int = log_start
        self.end: int = end
        super().__init__(
            _OFFSET_OUT_OF_RANGE,
            f"Offset {requested} of {topic}-{partition} is out of range: it begins at {log_start} and ends "
            f"at {end}",
        )

    def __reduce__(self) -> tuple[type["OffsetOutOfRange"], tuple[str, int, int, int, int]]:
        """Exceptions cross from Spark's workers to its driver by pickling."""
        return type(self), (self.topic, self.partition, self.requested, self.log_start, self.end)


class RecordTooLarge(BrokerError):
    """One record alone is more than the broker, or `max.request.size`, allows."""

    def __init__(self, topic: str, partition: int, size: int, limit: str) -> None:
        self.topic: str = topic
        self.partition: int = partition
        self.size: int = size
        self.limit: str = limit
        super().__init__(
            _MESSAGE_TOO_LARGE,
            f"A record of {size} bytes for {topic}-{partition} is larger than {limit} allows",
        )

    def __reduce__(self) -> tuple[type["RecordTooLarge"], tuple[str, int, int, str]]:
        return type(self), (self.topic, self.partition, self.size, self.limit)


class NothingArrives(ClientError):
    """A partition says that it has records, and sends none."""


class Undelivered(ClientError):
    """Records could not be delivered within `delivery.timeout.ms`; the cause is the last failure."""


class TopicRecreated(ClientError):
    """The offsets of a topic that was deleted mean nothing in another one of the same name."""

    def __init__(self, topic: str, old_id: UUID, new_id: UUID) -> None:
        self.topic: str = topic
        self.old_id: UUID = old_id
        self.new_id: UUID = new_id
        super().__init__(
            f"Topic {topic} was deleted and created anew: its id was {encode_uuid(old_id)} and is "
            f"{encode_uuid(new_id)} now"
        )

    def __reduce__(self) -> tuple[type["TopicRecreated"], tuple[str, UUID, UUID]]:
        return type(self), (self.topic, self.old_id, self.new_id)
