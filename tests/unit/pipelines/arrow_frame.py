"""A DataFrame of rows in memory, with as much of Spark's as a table's writer uses. The task runs here."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

_NAMES = {pa.int64(): "long", pa.int32(): "integer", pa.string(): "string", pa.date32(): "date",
          pa.timestamp("us", "UTC"): "timestamp", pa.float64(): "double"}  # fmt: skip


@dataclass
class ArrowFrame:
    table: pa.Table
    batches: int = 1

    @property
    def schema(self) -> Any:
        fields = [
            {"name": field.name, "type": _NAMES[field.type], "nullable": False, "metadata": {}}
            for field in self.table.schema
        ]
        return SimpleNamespace(json=lambda: json.dumps({"type": "struct", "fields": fields}))

    def mapInArrow(  # noqa: N802
        self, task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
    ) -> Any:
        size = max(1, -(-self.table.num_rows // self.batches))
        files = pa.Table.from_batches(list(task(iter(self.table.to_batches(max_chunksize=size)))))
        assert files.column_names == [column.split()[0] for column in schema.split(", ")]
        return SimpleNamespace(collect=lambda: [SimpleNamespace(**row) for row in files.to_pylist()])


def frame(values: list[int], hour: int = 1, batches: int = 1, **more: list[Any]) -> Any:
    """A row per value, in one hour."""
    from datetime import date

    columns = {
        "offset": pa.array(values, pa.int64()),
        **{name: pa.array(each) for name, each in more.items()},
        "date": pa.array([date(2026, 1, 1)] * len(values), pa.date32()),
        "hour": pa.array([hour] * len(values), pa.int32()),
    }
    return ArrowFrame(pa.table(columns), batches)
