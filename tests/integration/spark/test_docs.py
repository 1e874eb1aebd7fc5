"""The Python of docs/spark.md does what the page says.

A block of the language `text` right behind one of `python` is what that prints. Blocks of one section share
their names, as they do for a reader; a stream that is left running is run to its end and stopped.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.integration.spark.records import values_of

from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")
_PAGE = Path(__file__).parents[3] / "docs" / "spark.md"
_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


class Example(NamedTuple):
    code: str
    output: str


def sections() -> Iterator[tuple[str, list[Example]]]:
    source = _PAGE.read_text()
    marks = [*_HEADING.finditer(source)]
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        part = source[mark.end() : following.start() if following else None]
        examples = [Example(found["code"], found["output"] or "") for found in _BLOCK.finditer(part)]
        if examples:
            yield mark[1], examples


_SECTIONS = dict(sections())


@pytest.mark.parametrize("title", _SECTIONS)
def test_the_examples_print_what_the_page_says(
    spark: "SparkSession", kafka_broker: Broker, tmp_path: Path, title: str
) -> None:
    names: dict[str, object] = {"spark": spark}
    for number, example in enumerate(_SECTIONS[title]):
        code = example.code.replace("localhost:9092", kafka_broker.bootstrap_servers)
        code = code.replace("/data/checkpoints", str(tmp_path))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{_PAGE.name}, {title}, {number}", "exec"), names)
            for query in spark.streams.active:
                query.processAllAvailable()
                query.stop()
        assert printed.getvalue().strip() == example.output.strip()
    if title == "Five minutes":
        assert values_of(kafka_broker.bootstrap_servers, "loud-orders") == ["1 PEAR", "3 APPLES"]


def test_every_section_that_should_has_examples() -> None:
    assert list(_SECTIONS) == [
        "Five minutes",
        "Reading",
        "Progress",
        "Writing",
        "foreachBatch",
        "SQL, Spark Connect and Declarative Pipelines",
    ]
