"""The process that runs Spark: `python -m benchmarks.spark_process PLAN`, where the plan is JSON.

It loads the topics, warms every query up once in each format, then measures in rounds, the formats in turn.
What it has to say are lines of JSON on standard output: `{"step": ...}`, `{"job", "form", "figure"}` and
`{"job", "form", "error"}`. Spark's own words go to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.protocol import UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.spark_jobs import Job, SparkFailed, SparkSizes, Stage, jobs
from benchmarks.spark_records import load
from benchmarks.spark_session import spark_session

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    plan = json.loads(sys.argv[1])
    directory = Path(plan["directory"])
    host, _, port = plan["servers"].partition(":")
    sizes = SparkSizes(**plan["sizes"])
    wanted = [job for job in jobs() if job.name in plan["jobs"]]
    with Connection(host, int(port)) as connection:
        _load(connection, wanted, sizes)
        say({"step": "starting Spark"})
        with spark_session(plan["jars"], directory) as spark:
            stage = Stage(spark, plan["servers"], connection, directory, sizes)
            _run(stage, wanted, plan["forms"], plan["rounds"])


def _load(connection: Connection, wanted: Sequence[Job], sizes: SparkSizes) -> None:
    topics = {topic.name: topic for job in wanted for topic in job.topics(sizes)}
    for topic in topics.values():
        say({"step": f"loading {topic.records:,} records of {topic.record_bytes} B, {topic.codec}"})
        load(connection, topic)


def _run(stage: Stage, wanted: Sequence[Job], forms: Sequence[str], rounds: Mapping[str, int]) -> None:
    able = [(job, form) for job in wanted for form in forms]
    for job, form in list(able):
        say({"step": f"warming up  {form}  {job.name}"})
        if _figure(job, stage, form, warm_up=True) is None:
            able.remove((job, form))
    for number in range(max(rounds.values(), default=0)):
        for job in wanted:
            if number >= rounds[job.name]:
                continue
            for form in forms if number % 2 == 0 else list(reversed(forms)):
                if (job, form) not in able:
                    continue
                say({"step": f"round {number + 1}  {form}  {job.name}"})
                figure = _figure(job, stage, form)
                if figure is not None:
                    say({"job": job.name, "form": form, "figure": figure})


def _figure(job: Job, stage: Stage, form: str, *, warm_up: bool = False) -> float | None:
    from pyspark.errors import PySparkException

    try:
        return job.measure(stage, form, warm_up=warm_up)
    except (PySparkException, SparkFailed, UnexpectedAnswer, OSError) as error:
        first = str(error).strip().splitlines()[:1]
        say({"job": job.name, "form": form, "error": first[0] if first else type(error).__name__})
        return None


def say(what: Mapping[str, object]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
