"""The pipelines by name: what `barnabas pipeline list` shows and `barnabas pipeline run` starts.

It imports none of them: Spark is loaded only for a pipeline that runs.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

Main = Callable[[Sequence[str] | None], int]
"""The entry of a pipeline: arguments (None: those of the process) to exit status."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    name: str
    summary: str
    module: str
    """A package with a module `pipeline` that has a `main`; `python -m <module>` runs it."""

    def main(self) -> Main:
        return cast(Main, importlib.import_module(f"{self.module}.pipeline").main)


PIPELINES: tuple[Pipeline, ...] = (
    Pipeline(
        "logs",
        "Access logs to a table by date and hour; error rates per service to a topic",
        "barnabas.pipelines.log_collection",
    ),
    Pipeline(
        "activity",
        "Page views and clicks to sessions, counts and top pages; to topics and tables",
        "barnabas.pipelines.activity_tracking",
    ),
    Pipeline(
        "metrics",
        "Operational metrics to windowed aggregates; threshold, change and silence alerts to a topic",
        "barnabas.pipelines.metrics_alerts",
    ),
    Pipeline(
        "offline-load",
        "Any topics to tables (Delta Lake), with their offsets; compaction and backfill",
        "barnabas.pipelines.offline_load",
    ),
    Pipeline(
        "mirror",
        "Topics to another cluster: same partitions, times, headers and keys; groups translated",
        "barnabas.pipelines.mirror",
    ),
    Pipeline(
        "report",
        "An HTML page with plots from the tables: traffic, latency, errors, top pages",
        "barnabas.pipelines.report",
    ),
)


def find(name: str) -> Pipeline:
    """The pipeline of that name; KeyError names those there are."""
    for pipeline in PIPELINES:
        if pipeline.name == name:
            return pipeline
    raise KeyError(f"no pipeline {name!r}: there are {', '.join(each.name for each in PIPELINES)}")
