"""Formats received records: Kafka's formatters, selected by the last part of their class names.

A formatter turns a record into bytes. It raises Undecodable if it cannot. The order of the default one is
fixed: time, partition, offset, delivery, epoch, headers, key, value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from barnabas.cli.messages.deserializers import Deserializer, deserializer_of
from barnabas.cli.messages.librdkafka_clients import log_line


class Received(Protocol):
    """A record as confluent-kafka gives it."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> object: ...
    def timestamp(self) -> tuple[int, int]: ...


def headers_of(record: Received) -> list[tuple[str, bytes | None]]:
    """confluent-kafka returns pairs or None."""
    return cast("list[tuple[str, bytes | None]]", record.headers() or [])


Formatter = Callable[[Received], bytes]

_TIMES = {1: "CreateTime", 2: "LogAppendTime"}


class UnknownFormatter(Exception):
    """The message is the class name, as in Kafka."""


def formatter_of(class_name: str, properties: Mapping[str, str]) -> Formatter:
    """Raises UnknownFormatter."""
    name = class_name.replace("$", ".").rpartition(".")[2]
    if name == "DefaultMessageFormatter":
        return default_formatter(FormatSettings.of(properties))
    if name == "LoggingMessageFormatter":
        return _logging(default_formatter(FormatSettings.of(properties)))
    if name == "NoOpMessageFormatter":
        return lambda record: b""
    if name in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "TransactionLogMessageFormatter"):
        from barnabas.cli.messages.coordinator_formatter import coordinator_formatter

        return coordinator_formatter(name)
    raise UnknownFormatter(class_name)


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """What the default formatter prints and what it puts between."""

    timestamp: bool = False
    partition: bool = False
    offset: bool = False
    delivery: bool = False
    epoch: bool = False
    headers: bool = False
    key: bool = False
    value: bool = True
    key_separator: bytes = b"\t"
    line_separator: bytes = b"\n"
    headers_separator: bytes = b","
    null_literal: bytes = b"null"
    key_deserializer: Deserializer | None = None
    value_deserializer: Deserializer | None = None
    headers_deserializer: Deserializer | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "FormatSettings":
        def flag(name: str, *, default: bool = False) -> bool:
            given = properties.get(f"print.{name}")
            return default if given is None else given.strip().lower() == "true"

        def text(key: str, default: bytes) -> bytes:
            return properties[key].encode("utf-8", "surrogateescape") if key in properties else default

        return cls(
            flag("timestamp"),
            flag("partition"),
            flag("offset"),
            flag("delivery"),
            flag("epoch"),
            flag("headers"),
            flag("key"),
            flag("value", default=True),
            text("key.separator", b"\t"),
            text("line.separator", b"\n"),
            text("headers.separator", b","),
            text("null.literal", b"null"),
            _deserializer(properties, "key"),
            _deserializer(properties, "value"),
            _deserializer(properties, "headers"),
        )


def _deserializer(properties: Mapping[str, str], kind: str) -> Deserializer | None:
    key = f"{kind}.deserializer"
    if key not in properties:
        return None
    own = {
        name.removeprefix(key + "."): value
        for name, value in properties.items()
        if name.startswith(key + ".")
    }
    found = deserializer_of(properties[key], own, is_key=kind == "key")
    if found is None:
        log_line("ERROR", f"Unable to instantiate a deserializer from {properties[key]}")
    return found


def default_formatter(settings: FormatSettings) -> Formatter:
    """One for these settings: only what is printed is looked at, record for record."""
    columns: list[Callable[[Received], bytes]] = []
    if settings.timestamp:
        columns.append(_time)
    if settings.partition:
        columns.append(lambda record: b"Partition:%d" % (record.partition() or 0))
    if settings.offset:
        columns.append(lambda record: b"Offset:%d" % (record.offset() or 0))
    # Kafka's tool hands both on without a value.
    if settings.delivery:
        columns.append(lambda record: b"Delivery:NOT_PRESENT")
    if settings.epoch:
        columns.append(lambda record: b"Epoch:NOT_PRESENT")
    if settings.headers:
        columns.append(_headers(settings))
    if settings.key:
        columns.append(_field(lambda record: record.key(), settings.null_literal, settings.key_deserializer))
    if settings.value:
        columns.append(
            _field(lambda record: record.value(), settings.null_literal, settings.value_deserializer)
        )
    between, end = settings.key_separator, settings.line_separator
    if not columns:
        return lambda record: b""
    if len(columns) == 1:
        only = columns[0]
        return lambda record: only(record) + end
    return lambda record: between.join([column(record) for column in columns]) + end


def _time(record: Received) -> bytes:
    kind, time_ms = record.timestamp()
    return f"{_TIMES[kind]}:{time_ms}".encode() if kind in _TIMES else b"NO_TIMESTAMP"


def _field(
    get: Callable[[Received], bytes | None], null: bytes, deserialize: Deserializer | None
) -> Callable[[Received], bytes]:
    """A missing field is Kafka's null literal, which its deserializers then have to read."""
    if deserialize is None:

        def plain(record: Received) -> bytes:
            raw = get(record)
            return null if raw is None else raw

        return plain

    def decoded(record: Received) -> bytes:
        raw = get(record)
        return deserialize(null if raw is None else raw)

    return decoded


def _headers(settings: FormatSettings) -> Callable[[Received], bytes]:
    deserialize = settings.headers_deserializer or bytes

    def shown(record: Received) -> bytes:
        found = headers_of(record)
        if not found:
            return b"NO_HEADERS"
        return settings.headers_separator.join(
            name.encode() + b":" + deserialize(settings.null_literal if value is None else value)
            for name, value in found
        )

    return shown


def _logging(inner: Formatter) -> Formatter:
    """The default, and each record once more as a line of the log."""

    def shown(record: Received) -> bytes:
        raw = inner(record)
        kind, time_ms = record.timestamp()
        time_text = f"{_TIMES[kind]}:{time_ms}, " if kind in _TIMES else ""
        key, value = record.key(), record.value()
        key_text = "null " if key is None else key.decode("utf-8", "replace") + ", "
        value_text = "null" if value is None else value.decode("utf-8", "replace")
        log_line("INFO", f"{time_text}key:{key_text}value:{value_text}")
        return raw

    return shown
