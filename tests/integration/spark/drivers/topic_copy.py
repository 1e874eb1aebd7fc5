"""A driver as a user writes one: `python topic_copy.py PLAN`, on a cluster (`master`) or Connect (`remote`).

Writes the numbers below `rows` to topic `source` as a batch, counts them by another, and copies them with a
stream to topic `copy`: up to their end, or, with a file `until` that is waited for, for as long. Prints one
line of JSON at the end.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def session(plan: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder
    if "remote" in plan:
        return builder.remote(plan["remote"]).getOrCreate()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "WARN",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.master(plan["master"]).getOrCreate()


def main() -> None:
    plan = json.loads(sys.argv[1])
    spark = session(plan)
    servers = {"kafka.bootstrap.servers": plan["servers"]}
    numbers = spark.range(0, plan["rows"], 1, 2).selectExpr("format_string('%04d', id) as value")
    numbers.write.format("barnabas").options(**servers, topic="source").mode("append").save()
    read = spark.read.format("barnabas").options(**servers, subscribe="source").load()
    print(json.dumps({"read": read.count()}), flush=True)
    rows = spark.readStream.format("barnabas").options(**servers, subscribe="source")
    rows = rows.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", str(plan["per_batch"]))
    writer = rows.load().select("key", "value").writeStream.format("barnabas")
    writer = writer.options(**servers, topic="copy", checkpointLocation=plan["checkpoint"])
    if "until" not in plan:
        writer = writer.trigger(availableNow=True)
    query = writer.start()
    while not query.awaitTermination(1):
        if "until" in plan and Path(plan["until"]).exists():
            break
    last = query.lastProgress
    query.stop()
    print(json.dumps({"batch": last["batchId"] if last else None}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
