"""One life of a driver, in a process of its own: `python -m ... '<json>'`.

Copies a topic to another one and to Parquet files, in two queries at once, each in batches of `per_batch`
rows, up to the end of the topic. With an order (see faulty_sink.py) it writes the file of orders first, with
its own process and the JVM's among those to be killed.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from tests.integration.spark.drivers import faulty_sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def session(master: str) -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "512m",
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
    }
    builder = SparkSession.builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def rows_of(spark: SparkSession, plan: dict[str, Any]) -> "DataFrame":
    reader = spark.readStream.format(faulty_sink.NAME).option("kafka.bootstrap.servers", plan["servers"])
    reader = reader.option("subscribe", plan["source"]).option("startingOffsets", "earliest")
    return reader.option("maxOffsetsPerTrigger", plan["per_batch"]).option("orders", plan["orders"]).load()


def main() -> None:
    plan = json.loads(sys.argv[1])
    spark = session(plan["master"])
    cloudpickle.register_pickle_by_value(faulty_sink)  # type: ignore[no-untyped-call]
    spark.dataSource.register(faulty_sink.FaultySource)
    if "order" in plan:
        jvm = int(spark._jvm.ProcessHandle.current().pid())  # type: ignore[union-attr]
        kill = [] if plan.get("spares_driver") else [jvm, os.getpid()]
        Path(plan["orders"]).write_text(json.dumps({**plan["order"], "kill": kill}))
    directory = Path(plan["directory"])
    to_topic = rows_of(spark, plan).select("key", "value").writeStream.format(faulty_sink.NAME)
    to_topic = to_topic.option("kafka.bootstrap.servers", plan["servers"]).option("topic", plan["topic"])
    to_topic = to_topic.option("orders", plan["orders"]).option(
        "checkpointLocation", str(directory / "topic")
    )
    to_files = rows_of(spark, plan).writeStream.format("parquet").option("path", str(directory / "parquet"))
    to_files = to_files.option("checkpointLocation", str(directory / "files"))
    queries = [each.trigger(availableNow=True).start() for each in (to_topic, to_files)]
    for query in queries:
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
