import subprocess
import sys

import pytest
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
)
from tests.patience import PROGRAM_PATIENCE

from barnabas.spark.planning.option_values import BadOption
from barnabas.spark.source import row_columns, selected_columns


def test_a_row_has_the_columns_of_sparks_connector() -> None:
    plain = row_columns({})
    assert plain == (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
        "timestampType int"
    )
    assert row_columns({"includeHeaders": "TRUE"}) == (
        f"{plain}, headers array<struct<key:string,value:binary>>"
    )


def test_a_schema_selects_columns_in_its_own_order() -> None:
    schema = StructType().add("offset", LongType()).add("value", BinaryType())
    assert selected_columns(schema) == ("offset", "value")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("value", StringType()),
        ("colour", StringType()),
        ("timestamp", TimestampNTZType()),
        ("offset", IntegerType()),
        ("Value", BinaryType()),
    ],
)
def test_other_columns_are_refused(name: str, kind: DataType) -> None:
    with pytest.raises(BadOption, match=f"cannot be set with a custom one.*there is no '{name} "):
        selected_columns(StructType().add("key", BinaryType()).add(name, kind))


def test_a_schema_without_columns_is_refused() -> None:
    with pytest.raises(BadOption, match="at least one column"):
        selected_columns(StructType())


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("pyspark_barnabas", {"numpy", "pyarrow", "barnabas", "pandas", "asyncio"}),
        ("barnabas.spark.reading", {"pandas"}),
        ("barnabas.spark.stream_reader", {"pandas"}),
    ],
)
def test_a_source_imports_no_more_than_it_needs(module: str, unwanted: set[str]) -> None:
    """Spark imports `pyspark_barnabas` for every session, whether the source is used or not."""
    program = (
        "import sys, pyspark.sql.datasource, pyspark.sql.streaming.datasource; before = set(sys.modules); "
        f"import {module}; found = (set(sys.modules) - before) & {unwanted!r}; "
        "sys.exit(str(found) if found else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PROGRAM_PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
