"""Report: Spark makes the views, then the page is drawn from them."""

import dataclasses
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.settings import BadSetting, Settings, read, setting
from barnabas.pipelines.common.warehouse import Warehouse, warehouse_of
from barnabas.pipelines.report import declarative
from barnabas.pipelines.report.figures import read_figures
from barnabas.pipelines.report.page import page
from barnabas.pipelines.report.span import bucket_for, span_of

NAME = "report"
PURPOSE = "One HTML page with plots, from the tables of the other pipelines."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings(Settings):
    output: str = setting("", "The page [<warehouse>/report.html].")
    heading: str = setting("What happened", "What stands on top of it.")
    bucket: int = setting(0, "Seconds of a point in time [chosen by the span of the tables].")


@plainly(NAME)
def main(arguments: Sequence[str] | None = None) -> int:
    settings = read(ReportSettings, "barnabas pipeline run report", PURPOSE, arguments)
    status = run(settings)
    if status == 0:
        sys.stdout.write(f"{output_of(settings).absolute()}\n")
    return status


def output_of(settings: ReportSettings) -> Path:
    if not settings.output and "://" in settings.warehouse:
        raise BadSetting(f"--warehouse {settings.warehouse}: an object store needs --output on a disk")
    return Path(settings.output) if settings.output else Path(settings.warehouse) / "report.html"


def run(settings: ReportSettings) -> int:
    warehouse = _absolute(warehouse_of(settings))
    hours = _hours(warehouse)
    span = span_of(hours)
    if span is None:
        sys.stderr.write(
            f"{warehouse.root} has no tables yet: run the pipelines logs, activity or metrics first\n"
        )
        return 1
    begin = time.monotonic()
    bucket = settings.bucket or bucket_for(span.seconds)
    local = (
        settings.master.partition(",")[0].removesuffix("]") + "]" if "[" in settings.master else "local[*]"
    )
    directory = output_of(settings).absolute().parent if warehouse.is_remote else Path(warehouse.root)
    project = declarative.Project(warehouse, directory / "_report", bucket, settings.remote or local)
    sys.stderr.write(f"Spark makes the views of {len(hours)} hours ...\n")
    try:
        declarative.run(project)
    except declarative.PipelineFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    figures = read_figures(project.views, bucket, span)
    if span.remark:
        sys.stderr.write(f"{span.remark}\n")
    output_of(settings).write_text(page(figures, settings.heading), encoding="utf-8")
    sys.stderr.write(f"Made in {time.monotonic() - begin:.0f} s\n")
    return 0


def _hours(warehouse: Warehouse) -> set[str]:
    """The hours that the tables have files of: the names of their partitions."""
    tables = [warehouse.find(name) for name in warehouse.names()]
    return {file.partition for table in tables if table for file in table.files() if "hour=" in file.name}


def _absolute(warehouse: Warehouse) -> Warehouse:
    """Spark runs in another directory."""
    if warehouse.is_remote:
        return warehouse
    return dataclasses.replace(warehouse, root=str(Path(warehouse.root).absolute()))
