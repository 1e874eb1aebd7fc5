"""Results as text: the table for the terminal and the Markdown page. Pure functions of `Results`."""

from __future__ import annotations

import textwrap

from benchmarks.figures import MISSING, TIMES, format_figure, format_number, format_target
from benchmarks.medians import median
from benchmarks.results import ChangeRow, Results, Row

_COLUMNS = 120
_LEAST = (12, 12, 8, 9, 1)
_CHANGE_HEADER = ("", "without", "with", "change", "target", "")


def terminal_table(results: Results) -> str:
    """Aligned columns, groups as headings."""
    lines = []
    for group, rows in results.grouped():
        lines += ["", group, *_aligned([_header(rows), *(_cells(row) for row in rows)])]
    if results.changes:
        title = "Produce rate of Barnabas beside what is idle"
        lines += [
            "",
            title,
            *_aligned([_CHANGE_HEADER, *(_change_cells(change) for change in results.changes)]),
        ]
    lines += [
        "",
        *(f"note: {note}" for note in results.notes),
        *(f"FAILED: {failure}" for failure in results.failures),
    ]
    return "\n".join(lines).strip("\n") + "\n"


def markdown(results: Results, picture: str) -> str:
    """The page under benchmarks/results/; `picture` is the file name of the chart beside it."""
    lines = [f"# Benchmark of {results.date}", "", f"![Barnabas beside Apache Kafka]({picture})", ""]
    lines += textwrap.wrap(
        f"{', '.join(results.machine)}; {', '.join(results.versions)}. The clients ran on the same cores. "
        f"Medians of {results.rounds} rounds, both brokers in turn; a ratio is Barnabas / what is beside it.",
        _COLUMNS,
    )
    for group, rows in results.grouped():
        lines += ["", f"## {group}", "", *_markdown_table(_header(rows), [_cells(row) for row in rows])]
    if results.changes:
        lines += ["", "## Produce rate of Barnabas beside what is idle", ""]
        lines += _markdown_table(_CHANGE_HEADER, [_change_cells(change) for change in results.changes])
    lines += ["", "## Spread", "", "Smallest and largest of the rounds.", ""]
    lines += _markdown_table(("", "beside it", "Barnabas"), [_spread_cells(row) for row in results.rows])
    if results.notes or results.failures:
        lines += ["", "## Notes", ""]
        for note in (*results.notes, *(f"Failed: {failure}" for failure in results.failures)):
            lines += textwrap.wrap(f"- {note}", _COLUMNS, subsequent_indent="  ")
    return "\n".join(lines) + "\n"


def _header(rows: list[Row]) -> tuple[str, ...]:
    return "", rows[0].yardstick, "Barnabas", "ratio", "target", ""


def _cells(row: Row) -> tuple[str, ...]:
    unit = row.metric.unit
    apache = format_figure(median(row.apache), unit) if row.apache else MISSING
    barnabas = format_figure(median(row.barnabas), unit) if row.barnabas else MISSING
    ratio = MISSING if row.ratio is None else f"{row.ratio:.2f}{TIMES}"
    return (
        row.metric.title,
        apache,
        barnabas,
        ratio,
        format_target(row.metric.target, unit),
        _mark(row.keeps_target),
    )


def _change_cells(row: ChangeRow) -> tuple[str, ...]:
    without = format_figure(median(row.without), row.unit)
    with_idle = format_figure(median(row.with_idle), row.unit)
    target = f"> {row.largest_loss:+.0f} %"
    return row.title, without, with_idle, f"{row.change_percent:+.1f} %", target, _mark(row.keeps_target)


def _spread_cells(row: Row) -> tuple[str, ...]:
    return f"{row.group}: {row.metric.title}", *(
        _range(figures, row.metric.unit) for figures in (row.apache, row.barnabas)
    )


def _range(figures: list[float], unit: str) -> str:
    if not figures:
        return MISSING
    return f"{format_number(min(figures), unit)} {MISSING} {format_number(max(figures), unit)} {unit}"


def _mark(kept: bool | None) -> str:
    return "" if kept is None else ("✓" if kept else "✗")


def _aligned(table: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [_aligned_row(row, widths) for row in table]


def _aligned_row(row: tuple[str, ...], widths: list[int]) -> str:
    first = row[0].ljust(max(widths[0], 46))
    rest = [
        cell.rjust(max(width, least)) for cell, width, least in zip(row[1:], widths[1:], _LEAST, strict=True)
    ]
    return ("  " + "  ".join([first, *rest])).rstrip()


def _markdown_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    rule = "|" + "|".join([":--"] + ["--:"] * (len(header) - 1)) + "|"
    return [_markdown_row(header), rule, *(_markdown_row(row) for row in rows)]


def _markdown_row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
