"""The columns of a row in Spark, as Arrow types.

Names, types and order are those of Spark's own Kafka connector. Spark compares the first Arrow batch with
what it expects to the letter: `binary` and not `large_binary`, microseconds in UTC, and a list whose child is
named `element`.
"""

from collections.abc import Iterable

import pyarrow as pa

HEADER_TYPE = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS_TYPE = pa.list_(pa.field("element", HEADER_TYPE))
TIMESTAMP_TYPE = pa.timestamp("us", "UTC")

ROW_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", TIMESTAMP_TYPE),
        pa.field("timestampType", pa.int32()),
    ]
)

ROW_SCHEMA_WITH_HEADERS = ROW_SCHEMA.append(pa.field("headers", HEADERS_TYPE))


def projected(names: Iterable[str]) -> pa.Schema:
    """The schema of these columns alone, in this order; a name that no row has raises `ValueError`."""
    wanted = tuple(names)
    unknown = [name for name in wanted if name not in ROW_SCHEMA_WITH_HEADERS.names]
    if unknown:
        known = ", ".join(ROW_SCHEMA_WITH_HEADERS.names)
        raise ValueError(f"no such column: {', '.join(unknown)} (there are {known})")
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"a column is selected twice: {', '.join(wanted)}")
    return pa.schema([ROW_SCHEMA_WITH_HEADERS.field(name) for name in wanted])
