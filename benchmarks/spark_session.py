"""A Spark session as a user starts one: two local cores, Spark's defaults, the connector's jars beside us.

Only the process of `benchmarks.spark_process` makes one. Nothing is tuned for either format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.spark.worker_python import worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


@contextmanager
def spark_session(jars: Sequence[str], directory: Path) -> Iterator[SparkSession]:
    """Ends the JVM too, and waits for it: what it used is counted as ours, not as another's."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = worker_python()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("barnabas benchmark")
    for key, value in _CONFIGURATION.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.local.dir", str(directory / "scratch"))
    builder = builder.config("spark.sql.warehouse.dir", str(directory / "warehouse"))
    if jars:
        builder = builder.config("spark.jars", ",".join(jars))
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        gateway = SparkContext._gateway  # noqa: SLF001 - Spark has no other way to its JVM
        process = getattr(gateway, "proc", None)
        if gateway is not None and process is not None:
            gateway.shutdown()
            process.stdin.close()
            process.wait(30)
