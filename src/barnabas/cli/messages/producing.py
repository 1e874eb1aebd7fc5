"""Sends records with back-pressure, and reports records that were not delivered."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.messages.librdkafka_clients import open_producer
from barnabas.cli.messages.line_reader import Outgoing

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_POLLED_EVERY = 1024
_MESSAGE_TOO_LARGE = 10
_TIMED_OUT = -192
"""librdkafka's own code: the record waited longer than `delivery.timeout.ms`."""
_MOST_QUEUED = 200_000
"""Records waiting in memory. librdkafka bounds their bytes as well, but only of keys and values."""

OnFailure = Callable[["bytes | None", "bytes | None", str], None]
"""Key, value and reason of a record that was not delivered."""


class Sender:
    """Sends to one topic; `sent` and `failed` count. Not for several threads."""

    def __init__(self, properties: Mapping[str, str], topic: str, on_failure: OnFailure) -> None:
        """Raises BadSettings."""
        self.sent: int = 0
        self.failed: int = 0
        self._topic: str = topic
        self._on_failure: OnFailure = on_failure
        self._properties: Mapping[str, str] = properties
        self._producer: Producer = open_producer(
            properties,
            on_delivery=self._delivered,
            # Otherwise a million successes would each call back into Python.
            delivery_report_only_error=True,
            queue_buffering_max_messages=_MOST_QUEUED,
        )

    def send_values(self, values: list[bytes]) -> None:
        """Sends bare values, which is faster."""
        produce, topic = self._producer.produce, self._topic
        for value in values:
            try:
                produce(topic, value)
            except BufferError:
                self._send_when_possible(Outgoing(None, value))
            except Exception as error:  # noqa: BLE001  confluent-kafka's own is imported when it is raised
                self._refused(Outgoing(None, value), error)
        self.sent += len(values)
        self._producer.poll(0)

    def send(self, record: Outgoing) -> None:
        self._send_when_possible(record)
        self.sent += 1
        if self.sent % _POLLED_EVERY == 0:
            self._producer.poll(0)

    def flush(self) -> None:
        """Waits until all records are delivered or expired; `delivery.timeout.ms` bounds it."""
        self._producer.flush()

    def _send_when_possible(self, record: Outgoing) -> None:
        key, value, headers, partition, timestamp = record
        while True:
            try:
                if headers is None and not timestamp:
                    self._producer.produce(self._topic, value, key, partition)
                else:
                    self._producer.produce(
                        self._topic, value, key, partition, timestamp=timestamp, headers=headers or []
                    )
                return
            except BufferError:
                # The queue is full: wait until some of it has been delivered.
                self._producer.poll(0.05)
            except Exception as error:  # noqa: BLE001  as above
                self._refused(record, error)
                return

    def _refused(self, record: Outgoing, error: Exception) -> None:
        from confluent_kafka import KafkaException

        if not isinstance(error, KafkaException):
            raise error
        self.failed += 1
        reason = error.args[0]
        text = self._too_large(record) if reason.code() == _MESSAGE_TOO_LARGE else reason_of(reason)
        self._on_failure(record.key, record.value, text)

    def _delivered(self, error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            self.failed += 1
            partition = f"{self._topic}-{message.partition()}"
            self._on_failure(message.key(), message.value(), reason_of(error, partition, self._properties))

    def _too_large(self, record: Outgoing) -> str:
        limit = self._properties.get("max.request.size", "1048576")
        return (
            "org.apache.kafka.common.errors.RecordTooLargeException: "
            f"The message is {_size(record)} bytes when serialized which is larger than {limit}, "
            "which is the value of the max.request.size configuration."
        )


def reason_of(error: "KafkaError", partition: str = "", properties: Mapping[str, str] | None = None) -> str:
    """The error text of the Java client: the class of its exception and the message."""
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.errors import BrokerError

    code = error.code()
    if code >= 0:
        return exception_text(BrokerError(code))
    if code == _TIMED_OUT:
        timeout = (properties or {}).get("delivery.timeout.ms", "120000")
        return (
            "org.apache.kafka.common.errors.TimeoutException: "
            f"Expiring 1 record(s) for {partition}:{timeout} ms has passed since batch creation"
        )
    return error.str()


def _size(record: Outgoing) -> int:
    """The bound that the Java client computes before it sends: a batch's head, a record's, and its fields."""
    fields: list[str | bytes | None] = [record.key, record.value]
    for header in record.headers or ():
        fields += header
    sizes = [len(each.encode() if isinstance(each, str) else each or b"") for each in fields]
    return 61 + 21 + 1 + sum(_varint_size(size) + size for size in sizes)


def _varint_size(number: int) -> int:
    return max(1, ((number * 2).bit_length() + 6) // 7)
