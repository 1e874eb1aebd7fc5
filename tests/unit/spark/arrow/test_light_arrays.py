import subprocess
import sys

import numpy as np
import pyarrow as pa

from barnabas.spark.arrow.light_arrays import bytes_scalar, no_bytes, number_array

_ROUND_TRIP = """
import sys
import numpy as np
import pyarrow as pa
from barnabas.spark.arrow.batch_scan import scan
from barnabas.spark.arrow.columns import decode
from barnabas.spark.arrow.light_arrays import bytes_scalar
from barnabas.spark.arrow.record_batches import RowColumns, encode

values = pa.repeat(bytes_scalar(b"value"), 1000)
batches = encode(RowColumns(None, values, None, 5))
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


def test_records_are_read_and_written_without_pandas() -> None:
    ran = subprocess.run([sys.executable, "-c", _ROUND_TRIP], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
