"""Tables of a stream: Delta Lake, Parquet with our commit log, Spark's own Parquet sink; on the same rows.

    python -m benchmarks.table_sinks [directory]

Each round runs the three one after the other, so that a busy machine is busy for all of them. A figure is
rows a second over the batches after the first two, compaction included, and the files at the end: of data,
and of the log beside it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.medians import median
from benchmarks.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ROUNDS, BATCHES, ROWS = 3, 24, 100_000
_HOURS = ("date", "hour")
_PATIENCE = 600.0


@dataclass(frozen=True, slots=True)
class Result:
    rows_s: float
    data_files: int
    log_files: int


def stream(spark: SparkSession) -> DataFrame:
    """Records of 96 bytes that can hardly be compressed, in two hours."""
    from pyspark.sql import functions as sf

    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS)
        .option("numPartitions", 2)
        .option("startTimestamp", 1_767_225_600_000)
        .load()
    )
    number = sf.col("value").cast("string")
    text = sf.concat(sf.sha2(number, 256), sf.md5(number))
    return rows.select(
        (sf.col("value") % 4).cast("int").alias("partition"),
        sf.col("value").alias("offset"),
        "timestamp",
        text.cast("binary").alias("value"),
        sf.lit("2026-01-01").cast("date").alias("date"),
        sf.pmod("value", sf.lit(2)).cast("int").alias("hour"),
    )


def to_table(form: str) -> Callable[[DataFrame, Path], StreamingQuery]:
    """As the pipelines do it: `foreachBatch`, a file for each hour of a batch."""

    def start(rows: DataFrame, home: Path) -> StreamingQuery:
        from barnabas.pipelines.common.settings import Settings
        from barnabas.pipelines.common.warehouse import open_table

        settings = Settings(warehouse=str(home), format=form)

        def write(frame: DataFrame, number: int) -> None:
            table = open_table(settings, "table", "benchmark")
            arranged = frame.repartition(*_HOURS).sortWithinPartitions(*_HOURS)
            table.write_batch(arranged, number, _HOURS, writer="benchmark")

        return rows.writeStream.foreachBatch(write).option("checkpointLocation", str(home / "_c")).start()

    return start


def to_sparks_own(rows: DataFrame, home: Path) -> StreamingQuery:
    output = rows.repartition(*_HOURS).writeStream.format("parquet").partitionBy(*_HOURS)
    return output.option("path", str(home / "table")).option("checkpointLocation", str(home / "_c")).start()


SINKS: dict[str, Callable[[DataFrame, Path], StreamingQuery]] = {
    "delta": to_table("delta"),
    "parquet": to_table("parquet"),
    "spark": to_sparks_own,
}


def measure(spark: SparkSession, name: str, home: Path) -> Result:
    query = SINKS[name](stream(spark), home)
    until = time.monotonic() + _PATIENCE
    seconds: dict[int, float] = {}
    while len(seconds) < BATCHES and query.isActive and time.monotonic() < until:
        for progress in query.recentProgress:
            seconds[int(progress["batchId"])] = progress["durationMs"]["triggerExecution"] / 1000
        time.sleep(0.2)
    query.stop()
    if len(seconds) < BATCHES:
        raise SystemExit(f"{name}: {len(seconds)} batches; {query.exception()}")
    files = [path for path in (home / "table").rglob("*") if path.is_file() and path.suffix != ".crc"]
    logs = [path for path in files if any(part.startswith("_") for part in path.relative_to(home).parts)]
    taken = [seconds[batch] for batch in sorted(seconds)[2:BATCHES]]
    live = len(files) - len(logs)
    return Result(ROWS * len(taken) / sum(taken), _listed(home) if name == "delta" else live, len(logs))


def _listed(home: Path) -> int:
    """Files of the newest version; compaction leaves older ones for the readers that have them."""
    from barnabas.pipelines.common.warehouse import Warehouse

    table = Warehouse(str(home)).find("table")
    return len(table.files()) if table is not None else 0


def main(arguments: list[str]) -> int:
    directory = Path(arguments[0] if arguments else tempfile.mkdtemp(prefix="table-sinks-"))
    found: dict[str, list[Result]] = {name: [] for name in SINKS}
    with spark_session([], directory) as spark:
        spark.conf.set("spark.sql.parquet.compression.codec", "zstd")
        for number in range(ROUNDS):
            for name in SINKS:
                home = directory / f"{name}-{number}"
                found[name].append(measure(spark, name, home))
                shutil.rmtree(home)
                last = found[name][-1]
                print(f"round {number} {name:8}{last.rows_s:10,.0f} rows/s {last.data_files:5} files")
    base = median([each.rows_s for each in found["spark"]])
    print("\nsink       rows/s   beside Spark's   data files   log files")
    for name, results in found.items():
        rate, last = median([each.rows_s for each in results]), results[-1]
        print(f"{name:8}{rate:9,.0f} {rate / base:16.2f} {last.data_files:12} {last.log_files:11}")
    shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
