"""A received record that a test writes down."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class FakeRecord:
    raw_value: bytes | None = b"value"
    raw_key: bytes | None = b"key"
    pairs: list[tuple[str, bytes | None]] = field(default_factory=list)
    time: tuple[int, int] = (1, 1_700_000_000_123)
    position: int = 5

    def topic(self) -> str:
        return "orders"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return self.position

    def key(self) -> bytes | None:
        return self.raw_key

    def value(self) -> bytes | None:
        return self.raw_value

    def headers(self) -> object:
        return self.pairs or None

    def timestamp(self) -> tuple[int, int]:
        return self.time
