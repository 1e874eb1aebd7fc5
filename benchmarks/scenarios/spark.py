"""Topics in Spark: our data source beside Spark's own Kafka connector, on the same broker (ours) and session.

Spark runs in a process of its own (`benchmarks.spark_process`), which is sent what to measure and answers
with figures. Without PySpark or Java there are no rows; without the connector's jars there is no comparison.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.barnabas_broker import SOURCES, Barnabas
from benchmarks.metrics import Metric, Target
from benchmarks.scenarios.base import Settings
from benchmarks.spark_jobs import OURS, THEIRS

NAME = "spark"
GROUP = "Spark, beside Spark's own Kafka connector"
YARDSTICK = "Spark's connector"
_READ, _STREAM = Target("ratio", "least", 1.5), Target("ratio", "least", 1.3)
_NO_SLOWER = Target("ratio", "least", 1.0)
_AT_MOST = Target("value", "most", 0.3)
_ENDING = 60.0

METRICS: Mapping[str, Metric] = {
    "spark/read/100B/none": Metric("rows_s", "batch read, 100 B", "rows/s", True, _READ),
    "spark/read/100B/lz4": Metric("rows_s", "batch read, 100 B, lz4", "rows/s", True, _READ),
    "spark/read/1024B/none": Metric("rows_s", "batch read, 1 KiB", "rows/s", True, _READ),
    "spark/read/1024B/lz4": Metric("rows_s", "batch read, 1 KiB, lz4", "rows/s", True, _READ),
    "spark/stream": Metric("rows_s", "streaming read, 100 B", "rows/s", True, _STREAM),
    "spark/json": Metric("rows_s", "from_json and windows, 100 B", "rows/s", True, _NO_SLOWER),
    "spark/write": Metric("rows_s", "batch write, 100 B", "rows/s", True, _NO_SLOWER),
    "spark/idle/noop": Metric("batch_s", "micro-batch of 1 record", "s", False, _AT_MOST),
    "spark/idle/copy": Metric("batch_s", "micro-batch of 1 record, to a topic", "s", False),
}
"""By the name of the job (`benchmarks.spark_jobs.jobs`)."""
_ONCE = ("spark/idle/noop", "spark/idle/copy")
"""Medians of many batches already."""


class SparkProcessFailed(Exception):
    """The process did not come to its end; the message has the last lines that it wrote."""


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    job: str
    form: str
    figure: float


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    job: str
    form: str
    error: str


def missing() -> str | None:
    """Why nothing can be measured."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed (pip install barnabas[spark])"
    if shutil.which("java") is None:
        return "java is not installed"
    return None


class SparkRows:
    """One run of the process, on a broker of its own."""

    def __init__(
        self, barnabas: Barnabas, directory: Path, settings: Settings, connector: Sequence[Path]
    ) -> None:
        self._barnabas = barnabas
        self._directory = directory
        self._settings = settings
        self._connector = connector

    def run(
        self, names: Sequence[str], rounds: int, progress: Callable[[str], None]
    ) -> Iterator[Figure | Failure]:
        """Raises SparkProcessFailed, and what a broker that does not start raises."""
        few = min(rounds, self._settings.long_rounds)
        broker = self._barnabas.launch(self._directory / "broker")
        try:
            plan = {
                "servers": broker.bootstrap_servers,
                "directory": str(self._directory),
                "sizes": dataclasses.asdict(self._settings.spark),
                "jobs": list(names),
                "rounds": {name: 1 if name in _ONCE else few for name in names},
                "forms": [THEIRS, OURS] if self._connector else [OURS],
                "jars": [str(jar) for jar in self._connector],
            }
            yield from self._results(plan, progress)
        finally:
            broker.stop()

    def _results(
        self, plan: Mapping[str, object], progress: Callable[[str], None]
    ) -> Iterator[Figure | Failure]:
        output = self._directory / "spark.log"
        with _process(plan, output) as process:
            assert process.stdout is not None
            for line in process.stdout:
                said = json.loads(line)
                if "step" in said:
                    progress(said["step"])
                elif "error" in said:
                    yield Failure(**said)
                else:
                    yield Figure(**said)
            code = process.wait(_ENDING)
        if code:
            tail = "\n".join(output.read_text(errors="replace").splitlines()[-15:])
            raise SparkProcessFailed(f"Spark's process ended with {code}:\n{tail}")


@contextmanager
def _process(plan: Mapping[str, object], output: Path) -> Iterator[subprocess.Popen[str]]:
    """In a session of its own, so that its JVM and their Python workers can be ended with it."""
    inherited = os.environ.get("PYTHONPATH")
    paths = [str(SOURCES), str(SOURCES.parent), *([inherited] if inherited else [])]
    with output.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.spark_process", json.dumps(plan)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.stdout is not None:
            process.stdout.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
