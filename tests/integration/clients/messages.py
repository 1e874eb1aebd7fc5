"""What a client sends and what another one gets: one value for all of them, compared with `==`."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class Message:
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = -1
    partition: int = 0
    offset: int = -1


@dataclass(frozen=True, slots=True)
class Settings:
    """Of a client, in words that each of them knows under its own names."""

    codec: str = "none"
    acks: str = "all"
    is_idempotent: bool = False
    max_request_bytes: int = 1_000_000
    reads_committed: bool = False


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def every_shape(count: int = 12) -> list[Message]:
    """Messages with and without key, value and headers, empty and long ones, at known times a second apart.

    Headers are the same for all: kcat gives them once for a run.
    """
    begin = now_ms() - 60_000
    headers = (("trace", b"00-af"), ("lang", "grüß".encode()), ("trace", b"again"))
    shapes: Sequence[tuple[bytes | None, bytes | None]] = (
        (b"key", b"value"),
        (None, b"no key"),
        (b"deleted", None),
        ("schlüssel".encode(), "日本語".encode()),
        (b"long", b"abcdefghij" * 700),
    )
    return [
        Message(key, value, headers, begin + 1000 * index)
        for index, (key, value) in ((index, shapes[index % len(shapes)]) for index in range(count))
    ]


def numbered(messages: Sequence[Message], first: int = 0) -> list[Message]:
    """The messages as they come back from an empty partition."""
    return [replace(message, offset=first + index) for index, message in enumerate(messages)]


def without_timestamps(messages: Sequence[Message]) -> list[Message]:
    return [replace(message, timestamp=-1) for message in messages]
