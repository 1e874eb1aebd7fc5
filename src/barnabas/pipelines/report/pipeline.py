"""Report: Spark makes the views, then the page is drawn from them."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.settings import Settings, read, setting
from barnabas.pipelines.common.table import ParquetTable
from barnabas.pipelines.report import declarative
from barnabas.pipelines.report.figures import read_figures
from barnabas.pipelines.report.page import page

NAME = "report"
PURPOSE = "One HTML page with plots, from the tables of the other pipelines."
_POINTS = 150
_WIDTHS = (60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings(Settings):
    output: str = setting("", "The page [<warehouse>/report.html].")
    heading: str = setting("What happened", "What stands on top of it.")
    bucket: int = setting(0, "Seconds of a point in time [as the span of the tables asks for].")


@plainly(NAME)
def main(arguments: Sequence[str] | None = None) -> int:
    settings = read(ReportSettings, "barnabas pipeline run report", PURPOSE, arguments)
    status = run(settings)
    if status == 0:
        sys.stdout.write(f"{output_of(settings).absolute()}\n")
    return status


def output_of(settings: ReportSettings) -> Path:
    return Path(settings.output) if settings.output else Path(settings.warehouse) / "report.html"


def run(settings: ReportSettings) -> int:
    warehouse = Path(settings.warehouse).absolute()
    hours = _hours(warehouse)
    if not hours:
        sys.stderr.write(
            f"{warehouse} has no tables yet: run the pipelines logs, activity or metrics first\n"
        )
        return 1
    begin = time.monotonic()
    bucket = settings.bucket or bucket_for(len(hours) * 3600)
    local = (
        settings.master.partition(",")[0].removesuffix("]") + "]" if "[" in settings.master else "local[*]"
    )
    project = declarative.Project(warehouse, warehouse / "_report", bucket, settings.remote or local)
    sys.stderr.write(f"Spark makes the views of {len(hours)} hours ...\n")
    try:
        declarative.run(project)
    except declarative.PipelineFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    figures = read_figures(project.views, bucket)
    output_of(settings).write_text(page(figures, settings.heading), encoding="utf-8")
    sys.stderr.write(f"Made in {time.monotonic() - begin:.0f} s\n")
    return 0


def bucket_for(seconds: float) -> int:
    """The smallest width that makes no more points than a plot can show."""
    return next((width for width in _WIDTHS if seconds / width <= _POINTS), _WIDTHS[-1])


def _hours(warehouse: Path) -> set[str]:
    """The hours that the tables have files of: the names of their partitions."""
    if not warehouse.is_dir():
        return set()
    tables = [path for path in warehouse.iterdir() if path.is_dir() and not path.name.startswith("_")]
    return {
        file.partition for table in tables for file in ParquetTable(table).files() if "hour=" in file.name
    }
