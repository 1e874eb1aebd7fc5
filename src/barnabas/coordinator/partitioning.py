"""Which partition of an internal topic owns a key: all brokers must agree on it, Apache Kafka's included."""

from functools import lru_cache


@lru_cache(maxsize=4096)
def partition_for(key: str, count: int) -> int:
    """Java's `Utils.abs(key.hashCode()) % count`; a hash code runs over UTF-16 units."""
    code = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        code = (31 * code + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    if code == 0x80000000:
        return 0  # Java's absolute value of its smallest number is taken to be 0.
    return (code if code < 0x80000000 else 0x100000000 - code) % count
