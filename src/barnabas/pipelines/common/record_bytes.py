"""How large a record of the source is, before compression, as columns. The sizes are upper limits."""

from pyspark.sql import Column
from pyspark.sql import functions as sf

_PER_HEADER = 10
"""The two lengths of a header."""


def record_bytes() -> Column:
    """Key, value and headers, without what a batch adds."""
    return length_of("key") + length_of("value") + header_bytes()


def header_bytes() -> Column:
    def add(total: Column, header: Column) -> Column:
        value = sf.coalesce(sf.octet_length(header["value"]), sf.lit(0))
        return total + sf.octet_length(header["key"]) + value + _PER_HEADER

    return sf.coalesce(sf.aggregate("headers", sf.lit(0), add), sf.lit(0))


def length_of(column: str) -> Column:
    return sf.coalesce(sf.octet_length(column), sf.lit(0))
