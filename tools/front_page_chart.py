"""Draws docs/images/benchmark.svg: the rows of the README's benchmark table.

The figures are those of the table, so the two cannot differ: `make docs` after a change of the table, and a
test compares them.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # run as a file

from benchmarks import picture  # noqa: E402
from benchmarks.metrics import Metric  # noqa: E402
from benchmarks.results import Results, Row  # noqa: E402

CHART = ROOT / "docs" / "images" / "benchmark.svg"
_ROW = re.compile(r"^\| ([^|]+) \| ([\d.,]+) (\S+) \| ([\d.,]+) (\S+) \| [\d.]+\S \|$", re.MULTILINE)
_LESS_IS_BETTER = ("s", "ms", "MB")
_ROUNDS = 5


def render(readme: str) -> str:
    rows = []
    for title, apache, unit, barnabas, _ in _ROW.findall(readme):
        metric = Metric(title, title, unit, unit not in _LESS_IS_BETTER)
        rows.append(Row("", metric, [_number(apache)], [_number(barnabas)]))
    return picture.svg(Results(_date(), ["2 cores"], ["Apache Kafka 4.3.1"], _ROUNDS, rows))


def _date() -> str:
    """Of the run whose figures docs/benchmarks.md has."""
    found = re.search(r"results/([\w-]+)\.svg", (ROOT / "docs" / "benchmarks.md").read_text())
    return found[1] if found else ""


def _number(text: str) -> float:
    return float(text.replace(",", ""))


if __name__ == "__main__":
    CHART.write_text(render((ROOT / "README.md").read_text()))
