"""Records of many shapes, and rows of Arrow back as records, for the tests of this folder."""

import random
from collections.abc import Callable, Sequence

import pyarrow as pa
from hypothesis import strategies as st

from barnabas.records.batch import Buffer
from barnabas.records.record import Record
from barnabas.spark.arrow.batch_scan import scan
from barnabas.spark.arrow.columns import decode
from barnabas.spark.arrow.row_schema import HEADERS_TYPE, ROW_SCHEMA_WITH_HEADERS

COLUMNS = tuple(ROW_SCHEMA_WITH_HEADERS.names)
TIME = 1_700_000_000_000
_MICROSECONDS = 1000

Shape = Callable[[random.Random, int], Record]


def _even(chance: random.Random, number: int) -> Record:
    return Record(number, TIME, b"key", b"v" * 100)


def _text(chance: random.Random, number: int) -> Record:
    size = chance.randrange(70, 300)
    return Record(number, TIME + number, b"key-%d" % number, b"{" + b"x" * size + b"}")


def _short_text(chance: random.Random, number: int) -> Record:
    return Record(number, TIME + number, None, b"y" * chance.randrange(0, 90))


def _bytes(chance: random.Random, number: int) -> Record:
    return Record(number, TIME - number, chance.randbytes(8), chance.randbytes(chance.randrange(200)))


def _zeros(chance: random.Random, number: int) -> Record:
    return Record(number, TIME, bytes(chance.randrange(4)), bytes(chance.randrange(150)))


def _headers(chance: random.Random, number: int) -> Record:
    headers = (("trace", chance.randbytes(8)), ("empty", b""), ("null", None))[: chance.randrange(4)]
    return Record(number, TIME, b"k", b"value" * chance.randrange(30), headers)


def _nested(chance: random.Random, number: int) -> Record:
    """Values that look like records themselves."""
    return Record(number, TIME, None, b"\x00\xc8\x01\x00\x00\x00\x01" * chance.randrange(30))


def _mixed(chance: random.Random, number: int) -> Record:
    return chance.choice(SHAPES[:-1])(chance, number)


SHAPES: tuple[Shape, ...] = (_even, _text, _short_text, _bytes, _zeros, _headers, _nested, _mixed)


def many_records(shape: Shape, seed: int, count: int) -> list[Record]:
    """Records numbered from 0 on; the same for the same arguments."""
    chance = random.Random(seed)
    return [shape(chance, number) for number in range(count)]


bulks = st.builds(
    many_records,
    st.sampled_from(SHAPES),
    st.integers(0, 1 << 32),
    st.sampled_from((0, 1, 40, 600)),
)


def records_of(
    fetched: Buffer,
    *,
    start: int = 0,
    stop: int | None = None,
    aborted: Sequence[tuple[int, int]] = (),
    check_crc: bool = True,
) -> list[Record]:
    """What the code under test makes of the bytes of a fetch, row by row."""
    scanned = scan(
        fetched,
        aborted=aborted,
        start_offset=start,
        stop_offset=stop,
        check_crc=check_crc,
        topic="topic",
        partition=3,
    )
    rows = decode(scanned, "topic", 3, COLUMNS)
    rows.validate(full=True)
    assert rows.schema.equals(ROW_SCHEMA_WITH_HEADERS)
    assert set(rows["topic"].to_pylist()) <= {"topic"}
    assert set(rows["partition"].to_pylist()) <= {3}
    columns = (
        rows["offset"].to_pylist(),
        [time // _MICROSECONDS for time in rows["timestamp"].cast(pa.int64()).to_pylist()],
        rows["key"].to_pylist(),
        rows["value"].to_pylist(),
        rows["headers"].to_pylist(),
    )
    return [
        Record(offset, time, key, value, tuple((pair["key"], pair["value"]) for pair in headers or ()))
        for offset, time, key, value, headers in zip(*columns, strict=True)
    ]


def headers_column(records: Sequence[Record]) -> pa.Array:
    """The headers of the records as Spark gives them: null where there are none."""
    return pa.array(
        [
            [{"key": name, "value": value} for name, value in record.headers] if record.headers else None
            for record in records
        ],
        HEADERS_TYPE,
    )
