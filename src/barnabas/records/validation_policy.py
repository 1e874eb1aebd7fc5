"""A topic's rules for what is appended to it, with the names and defaults of its configuration."""

from dataclasses import dataclass, field

from barnabas.records.compression import CODEC_NAMES, GZIP, LZ4, NONE, ZSTD, unpacked_limit_of

KEEP_CODEC = -1
"""The target codec of `compression.type=producer`."""

_MAX_INT64 = (1 << 63) - 1
_BELIEVED_AHEAD_MS = 3_600_000
"""How far ahead of the clock a header's max timestamp may be without a look at the records."""


@dataclass(frozen=True, slots=True)
class ValidationPolicy:
    compression_type: str = "producer"
    gzip_level: int | None = None
    lz4_level: int | None = None
    zstd_level: int | None = None
    timestamp_type: str = "CreateTime"
    before_max_ms: int = _MAX_INT64
    after_max_ms: int = 3_600_000
    max_message_bytes: int = 1_048_588
    compact: bool = False
    target_codec: int = field(init=False)
    uses_append_time: bool = field(init=False)
    untouched_codecs: frozenset[int] = field(init=False)
    """Codecs whose batches are stored as they came if their header is in order."""
    believed_ahead_ms: int = field(init=False)
    unpacked_limit: int = field(init=False)

    def __post_init__(self) -> None:
        if self.timestamp_type not in ("CreateTime", "LogAppendTime"):
            raise ValueError(f"no timestamp type: {self.timestamp_type!r}")
        target = _target_codec(self.compression_type)
        append_time = self.timestamp_type == "LogAppendTime"
        untouched = range(len(CODEC_NAMES)) if target == KEEP_CODEC else (target,)
        object.__setattr__(self, "target_codec", target)
        object.__setattr__(self, "uses_append_time", append_time)
        object.__setattr__(
            self, "untouched_codecs", frozenset() if append_time or self.compact else frozenset(untouched)
        )
        object.__setattr__(self, "believed_ahead_ms", min(self.after_max_ms, _BELIEVED_AHEAD_MS))
        object.__setattr__(self, "unpacked_limit", unpacked_limit_of(self.max_message_bytes))

    def level_of(self, codec: int) -> int | None:
        return {GZIP: self.gzip_level, LZ4: self.lz4_level, ZSTD: self.zstd_level}.get(codec)


def _target_codec(compression_type: str) -> int:
    if compression_type == "producer":
        return KEEP_CODEC
    if compression_type == "uncompressed":
        return NONE
    return CODEC_NAMES.index(compression_type)
