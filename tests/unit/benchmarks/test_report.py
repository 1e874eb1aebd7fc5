import xml.etree.ElementTree as ET

from benchmarks import picture, report
from benchmarks.figures import TIMES
from benchmarks.metrics import Metric, Target
from benchmarks.results import ChangeRow, Results, Row

FASTER = Metric("mb_s", "1 MB batches", "MB/s", True, Target("ratio", "least", 1.3))
SOONER = Metric("p50_ms", "p50 <raw>", "ms", False, Target("ratio", "most", 0.7))
LIGHT = Metric("idle_mb", "idle", "MB", False, Target("value", "most", 60))


def results(*rows: Row) -> Results:
    return Results("2026-01-02 03:04", ["2 CPUs"], ["Python 3.11"], 3, rows=list(rows))


def test_ratio_target_is_judged_by_the_ratio() -> None:
    assert Row("g", FASTER, [100.0], [130.0]).keeps_target is True
    assert Row("g", FASTER, [100.0], [129.0]).keeps_target is False
    assert Row("g", SOONER, [1.0], [0.6]).keeps_target is True


def test_value_target_is_judged_without_apache_kafka() -> None:
    assert Row("g", LIGHT, [], [59.0]).keeps_target is True
    assert Row("g", LIGHT, [], [61.0]).keeps_target is False


def test_what_was_not_measured_keeps_and_breaks_nothing() -> None:
    assert Row("g", FASTER, [], [130.0]).keeps_target is None
    assert Row("g", FASTER, [100.0], []).keeps_target is None


def test_lower_is_better_is_turned_for_the_chart() -> None:
    assert Row("g", SOONER, [1.0], [0.5]).times_better == 2.0
    assert Row("g", FASTER, [1.0], [0.5]).times_better == 0.5


def test_idle_cost_may_not_lose_ten_percent() -> None:
    assert ChangeRow("idle", "req/s", [100.0], [91.0], -10.0).keeps_target
    assert not ChangeRow("idle", "req/s", [100.0], [89.0], -10.0).keeps_target


def test_terminal_table_shows_medians_ratio_target_and_verdict() -> None:
    table = report.terminal_table(results(Row("Produce", FASTER, [300.0, 1.0, 310.0], [450.0, 460.0, 440.0])))
    line = next(line for line in table.splitlines() if "1 MB batches" in line)
    assert line.split() == [
        "1",
        "MB",
        "batches",
        "300",
        "MB/s",
        "450",
        "MB/s",
        f"1.50{TIMES}",
        "≥",
        f"1.3{TIMES}",
        "✓",
    ]


def test_markdown_names_the_picture_notes_and_failures() -> None:
    found = results(Row("Produce", FASTER, [], [450.0]))
    found.notes.append("Apache Kafka was not measured: java is not installed.")
    found.failures.append("fetch on Barnabas: error code 3")
    found.changes.append(ChangeRow("5,000 idle partitions", "req/s", [100.0], [99.0], -10.0))
    page = report.markdown(found, "chart.svg")
    assert "](chart.svg)" in page
    assert "java is not installed" in page
    assert "Failed: fetch on Barnabas" in page
    assert "| 5,000 idle partitions | 100 req/s | 99 req/s | -1.0 % |" in page


def test_picture_is_well_formed_and_labels_every_row() -> None:
    drawn = picture.svg(results(Row("A & B", FASTER, [100.0], [40.0]), Row("A & B", SOONER, [1.0], [0.25])))
    texts = [element.text for element in ET.fromstring(drawn).iter() if element.tag.endswith("text")]
    assert {"A & B", "1 MB batches", "p50 <raw>", f"4.0{TIMES}", f"0.40{TIMES}"} <= set(texts)


def test_picture_without_apache_kafka_lists_the_figures() -> None:
    drawn = picture.svg(results(Row("Produce", FASTER, [], [450.0])))
    texts = [element.text for element in ET.fromstring(drawn).iter() if element.tag.endswith("text")]
    assert "450 MB/s" in texts
    assert "Apache Kafka was not measured in this run." in texts
