"""Reads records from lines of standard input, with the properties and error texts of Kafka's line reader.

Lines stay bytes: what is not UTF-8 arrives unchanged (Kafka would replace it). A line ends with LF, CR or
CRLF, as in Java; the last one needs no end.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, Protocol

_CHUNK = 1 << 18
_JAVA_EXCEPTION = "org.apache.kafka.common.KafkaException: "

Headers = list[tuple[str, str | bytes | None]]


class BadLine(Exception):
    """A line or a property of the reader is invalid. The message is Kafka's."""

    def __init__(self, text: str) -> None:
        super().__init__(_JAVA_EXCEPTION + text)


class Outgoing(NamedTuple):
    """A record to send."""

    key: bytes | None
    value: bytes | None
    headers: Headers | None = None
    partition: int = -1
    """-1: the partitioner's choice."""
    timestamp: int = 0
    """In milliseconds; 0: now."""


class _Source(Protocol):
    def read1(self, size: int, /) -> bytes: ...


def lines(source: _Source | BinaryIO) -> Iterator[list[bytes]]:
    """Yields all available lines until the end of input. Does not hold back a complete line."""
    unfinished: list[bytes] = []
    after_cr = False
    while chunk := source.read1(_CHUNK):  # type: ignore[union-attr]
        if after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if not chunk:
            after_cr = False
            continue
        after_cr = chunk.endswith(b"\r")
        found = chunk.splitlines()
        last = b"" if chunk.endswith((b"\n", b"\r")) else found.pop()
        if found:
            unfinished.append(found[0])
            found[0] = b"".join(unfinished)
            unfinished.clear()
            yield found
        if last:
            unfinished.append(last)
    if unfinished:
        yield [b"".join(unfinished)]


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a line is made of headers, key and value."""

    parse_key: bool = False
    parse_headers: bool = False
    ignore_error: bool = False
    key_separator: bytes = b"\t"
    headers_delimiter: bytes = b"\t"
    headers_separator: bytes = b","
    headers_key_separator: bytes = b":"
    null_marker: bytes | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "LineFormat":
        """From the properties of Kafka's reader. Raises BadLine."""

        def text(key: str, default: bytes) -> bytes:
            return properties[key].encode("utf-8", "surrogateescape") if key in properties else default

        def flag(key: str) -> bool:
            return properties.get(key, "").strip().lower() == "true"

        made = cls(
            flag("parse.key"),
            flag("parse.headers"),
            flag("ignore.error"),
            text("key.separator", b"\t"),
            text("headers.delimiter", b"\t"),
            text("headers.separator", b","),
            text("headers.key.separator", b":"),
            text("null.marker", b"") if "null.marker" in properties else None,
        )
        made._check()
        return made

    def _check(self) -> None:
        named = {
            "headers.delimiter": self.headers_delimiter,
            "headers.separator": self.headers_separator,
            "headers.key.separator": self.headers_key_separator,
            "key.separator": self.key_separator,
            "null.marker": self.null_marker,
        }
        for first, second in (
            ("headers.delimiter", "headers.separator"),
            ("headers.delimiter", "headers.key.separator"),
            ("headers.separator", "headers.key.separator"),
            ("null.marker", "key.separator"),
            ("null.marker", "headers.separator"),
            ("null.marker", "headers.delimiter"),
            ("null.marker", "headers.key.separator"),
        ):
            if named[first] == named[second]:
                raise BadLine(f"{first} and {second} may not be equal")

    @property
    def is_plain(self) -> bool:
        """A line is a bare value."""
        return not self.parse_key and not self.parse_headers and self.null_marker is None


class LineReader:
    """Counts lines, for its errors."""

    def __init__(self, line_format: LineFormat) -> None:
        self._format: LineFormat = line_format
        self._number: int = 0
        try:
            # Kafka splits by a regular expression: characters like `|` are special.
            self._headers_separator: re.Pattern[bytes] = re.compile(line_format.headers_separator)
        except re.error as error:
            raise BadLine(f"headers.separator: {error}") from None

    def record(self, line: bytes) -> Outgoing:
        """Raises BadLine."""
        self._number += 1
        form = self._format
        start = 0
        key: bytes | None = None
        headers: bytes | None = None
        if form.parse_headers:
            headers = self._part(line, 0, form.headers_delimiter, "headers delimiter")
            if headers is not None:
                start = len(headers) + len(form.headers_delimiter)
        if form.parse_key:
            key = self._part(line, start, form.key_separator, "key separator")
            if key is not None:
                start += len(key) + len(form.key_separator)
        value: bytes | None = line[start:]
        if form.null_marker is not None:
            key = None if key == form.null_marker else key
            value = None if value == form.null_marker else value
            headers = None if headers == form.null_marker else headers
        return Outgoing(key, value, None if headers is None else self._headers(headers))

    def _part(self, line: bytes, start: int, end: bytes, name: str) -> bytes | None:
        index = line.find(end, start)
        if index >= 0:
            return line[start:index]
        if self._format.ignore_error:
            return None
        raise BadLine(f"No {name} found on line number {self._number}: '{_shown(line)}'")

    def _headers(self, text: bytes) -> Headers:
        pairs = self._headers_separator.split(text)
        while len(pairs) > 1 and not pairs[-1]:
            pairs.pop()
        if len(pairs) == 1 and not pairs[0] and text:
            return []
        return [self._header(pair) for pair in pairs]

    def _header(self, pair: bytes) -> tuple[str, str | bytes | None]:
        key, found, value = pair.partition(self._format.headers_key_separator)
        if not found:
            if self._format.ignore_error:
                return _shown(pair), None
            raise BadLine(
                f"No header key separator found in pair '{_shown(pair)}' on line number {self._number}"
            )
        marker = self._format.null_marker
        if key == marker:
            raise BadLine(
                f"Header keys should not be equal to the null marker '{_shown(key)}' as they can't be null"
            )
        return _shown(key), None if value == marker else value


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
