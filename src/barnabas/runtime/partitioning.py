"""The partition of an internal topic that owns a key. All brokers, and Apache Kafka's clients, must agree."""

from functools import lru_cache


@lru_cache(maxsize=4096)
def partition_for(key: str, count: int) -> int:
    """Java's `Utils.abs(key.hashCode()) % count`. The hash code is computed over UTF-16 units."""
    code = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        code = (31 * code + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    if code == 0x80000000:
        return 0  # `Utils.abs` maps Java's smallest integer to 0.
    return (code if code < 0x80000000 else 0x100000000 - code) % count
