"""Runs the Declarative Pipelines project of the report: `spark-pipelines run`, in a directory of its own.

The views are made anew by every run, so nothing of an earlier one is kept: Spark's catalog in memory is
enough, and the directory is emptied first (a view that is there already would be refused).
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipelines.common.warehouse import Warehouse
from barnabas.spark.worker_python import worker_python

_HERE = Path(__file__).parent
_TOP = Path(__file__).parents[len(__name__.split(".")) - 1]
"""What the project imports is found from here, also in a copy of it."""


@dataclass(frozen=True, slots=True)
class Project:
    warehouse: Warehouse
    directory: Path
    """Project, checkpoints and views of one run."""
    bucket: int
    remote: str
    """`local[*]`, or the address of a Spark Connect server that sees the same files."""

    @property
    def views(self) -> Path:
        return self.directory / "views"


class PipelineFailed(Exception):
    """The message has the last lines of what Spark said."""


def run(project: Project) -> None:
    """Raises PipelineFailed."""
    shutil.rmtree(project.directory, ignore_errors=True)
    home = project.directory / "project"
    shutil.copytree(
        _HERE / "transformations", home / "transformations", ignore=shutil.ignore_patterns("__pycache__")
    )
    (home / "spark-pipeline.yml").write_text(_spec(project))
    log = project.directory / "spark.log"
    with log.open("w") as output:
        ended = subprocess.run(
            _command(project),
            cwd=project.directory,
            env=_environment(),
            stdout=output,
            stderr=output,
            check=False,
        )
    if ended.returncode:
        raise PipelineFailed(f"spark-pipelines failed; see {log}\n{_end_of(log)}")


def _spec(project: Project) -> str:
    """The project's own file, with the paths of this run."""
    import yaml

    spec = yaml.safe_load((_HERE / "spark-pipeline.yml").read_text())
    spec["storage"] = (project.directory / "storage").as_uri()
    spec["configuration"] |= {
        "barnabas.warehouse": project.warehouse.root,
        "barnabas.storage.options": json.dumps(project.warehouse.storage_options),
        "barnabas.bucket.seconds": str(project.bucket),
    }
    text: str = yaml.safe_dump(spec, sort_keys=False)
    return text


def _command(project: Project) -> list[str]:
    static = {
        "spark.sql.warehouse.dir": str(project.views),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
    }
    options = [word for key, value in static.items() for word in ("--conf", f"{key}={value}")]
    return [
        str(_program()),
        "run",
        "--spec",
        "project/spark-pipeline.yml",
        "--remote",
        project.remote,
        *options,
    ]


def _program() -> Path:
    """`spark-pipelines`, as it is inside pyspark: a virtual environment need not be on the PATH."""
    import pyspark

    return Path(pyspark.__file__).parent / "bin" / "spark-pipelines"


def _environment() -> dict[str, str]:
    paths = [str(_TOP), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": worker_python()}


def _end_of(log: Path, lines: int = 8) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
