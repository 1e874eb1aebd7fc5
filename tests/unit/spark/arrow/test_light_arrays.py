import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from barnabas.spark.arrow.light_arrays import bytes_scalar, no_bytes, nulls_of, number_array, numbers_of

_ROUND_TRIP = """
import sys
import numpy as np
import pyarrow as pa
from barnabas.spark.arrow.batch_scan import scan
from barnabas.spark.arrow.columns import decode
from barnabas.spark.arrow.light_arrays import bytes_scalar
from barnabas.spark.arrow.murmur2 import partition_of_keys
from barnabas.spark.arrow.record_batches import RowColumns, encode

keys, values = pa.repeat(bytes_scalar(b"key"), 1000), pa.repeat(bytes_scalar(b"value"), 1000)
assert partition_of_keys(keys, 4).tolist() == [partition_of_keys(keys, 4)[0]] * 1000
batches = encode(RowColumns(keys, values, None, 5))
written = b"".join(bytes(part) for batch in batches for part in (batch.head, batch.body))
assert decode(scan(written, start_offset=0), "topic", 0).num_rows == 1000
print("pandas" in sys.modules)
"""


def test_numbers_and_nulls() -> None:
    values = np.arange(20, dtype=np.int64)[::2]
    assert number_array(values).equals(pa.array(values))
    nulls = values % 4 == 0
    assert number_array(values, nulls).equals(pa.array(values, mask=nulls))


def test_bytes_and_text() -> None:
    assert bytes_scalar(b"\x00") == pa.scalar(b"\x00", pa.binary())
    assert bytes_scalar("über".encode(), pa.string()) == pa.scalar("über")
    assert no_bytes().equals(pa.array([], pa.binary()))


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.timestamp("us")])
def test_arrow_becomes_numpy(kind: pa.DataType) -> None:
    column = pa.array([7, None, 9, None, 11], kind)
    assert numbers_of(column, null=-1).tolist() == [7, -1, 9, -1, 11]
    assert numbers_of(column.slice(1, 3), null=-1).tolist() == [-1, 9, -1]
    assert nulls_of(column.slice(1, 3)).tolist() == [True, False, True]
    assert numbers_of(column.slice(0, 1)).tolist() == [7]
    assert nulls_of(column.slice(0, 0)).tolist() == []


def test_a_column_of_nulls_alone() -> None:
    column = pa.nulls(3)
    assert numbers_of(column, null=5).tolist() == [5, 5, 5]
    assert nulls_of(column).all()


def test_records_are_read_and_written_without_pandas() -> None:
    ran = subprocess.run([sys.executable, "-c", _ROUND_TRIP], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
