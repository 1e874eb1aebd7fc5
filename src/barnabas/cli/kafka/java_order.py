"""The iteration order of Java's HashMap.

Kafka's tools print some lists in that order, the same for every run and every broker. It follows from the
keys alone: the bucket of each key's hash, in a table of a power of two that is at most three quarters full.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_SMALLEST_TABLE = 16
_MASK = 0xFFFFFFFF


def in_java_order(values: Iterable[T], key: Callable[[T], str]) -> list[T]:
    """Values put into a HashMap one after another under their `key`."""
    found = list(values)
    size = _SMALLEST_TABLE
    while len(found) > size * 3 // 4:
        size *= 2
    return sorted(found, key=lambda value: _spread(string_hash(key(value))) & (size - 1))


def string_hash(text: str) -> int:
    """Java's `String.hashCode`, without a sign."""
    code = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & _MASK
    return code


def _spread(code: int) -> int:
    return code ^ code >> 16
