"""The chart as a hand-written SVG: how many times better than Apache Kafka each row is, on a log axis.

Lower-is-better rows are turned, so that a bar to the right is always good; the figures beside the bars stay
as measured. Without Apache Kafka the picture lists Barnabas' figures only.
"""

from __future__ import annotations

import math
from html import escape

from benchmarks.figures import TIMES, format_figure
from benchmarks.medians import median
from benchmarks.results import Results, Row

WIDTH = 1080
_LABEL_RIGHT = 400
_AXIS_LEFT, _AXIS_RIGHT = 420, 740
_APACHE_RIGHT, _BARNABAS_RIGHT = 905, 1050
_LABEL_WIDTH = 48
_ROW, _GROUP, _TOP, _BOTTOM = 24, 42, 118, 70
_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)

_STYLE = """
  text { font-family: Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; }
  text { font-size: 13px; fill: #24313f; }
  .title { font-size: 22px; font-weight: 600; } .quiet { fill: #6b7a89; font-size: 12px; }
  .group { font-weight: 600; font-size: 13.5px; } .end { text-anchor: end; } .middle { text-anchor: middle; }
  .beside { font-weight: 600; font-size: 12px; }
"""
_BETTER, _WORSE, _TARGET, _GRID, _ONE = "#1f8a70", "#d9743b", "#24313f", "#e6ebef", "#8896a3"


def svg(results: Results) -> str:
    groups = results.grouped()
    height = _TOP + sum(_GROUP + _ROW * len(rows) for _, rows in groups) + _BOTTOM
    compared = [row.times_better for row in results.rows if row.times_better is not None]
    axis = _Axis(compared) if compared else None
    parts = _frame(results, height, axis)
    y = _TOP
    for group, rows in groups:
        parts.append(_text("group", 30, y + 26, group))
        y += _GROUP
        for row in rows:
            parts += _row(row, y, axis)
            y += _ROW
    parts += _legend(height, axis)
    return "\n".join(parts) + "\n</svg>\n"


class _Axis:
    """Logarithmic positions between the nearest ticks around the figures."""

    def __init__(self, values: list[float]) -> None:
        low = max((tick for tick in _TICKS if tick <= min([*values, 0.99])), default=_TICKS[0])
        high = min((tick for tick in _TICKS if tick >= max([*values, 2])), default=_TICKS[-1])
        self.ticks = [tick for tick in _TICKS if low <= tick <= high]
        self._low, self._high = math.log2(low), math.log2(high)

    def x(self, value: float) -> float:
        share = (math.log2(value) - self._low) / (self._high - self._low)
        return _AXIS_LEFT + (_AXIS_RIGHT - _AXIS_LEFT) * min(max(share, 0.0), 1.0)


def _frame(results: Results, height: int, axis: _Axis | None) -> list[str]:
    title = f"Barnabas beside {results.yardstick}" if axis else "Barnabas"
    lines = [f"{', '.join(results.machine)}; {', '.join(results.versions)}"]
    lines.append(f"{results.date}, medians of {results.rounds} rounds, clients on the same cores")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"',
        f' viewBox="0 0 {WIDTH} {height}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff"/>',
        _text("title", 30, 42, title),
        _text("quiet", 30, 64, lines[0]),
        _text("quiet", 30, 81, lines[1]),
        _text("quiet end", _BARNABAS_RIGHT, _TOP, "Barnabas"),
    ]
    if axis is None:
        return parts
    parts.append(_text("quiet end", _APACHE_RIGHT, _TOP, results.yardstick))
    for tick in axis.ticks:
        x, colour = axis.x(tick), _ONE if tick == 1 else _GRID
        parts.append(_vertical(x, _TOP + 8, height - _BOTTOM + 8, colour, 1))
        parts.append(_text("quiet middle", x, _TOP, f"{tick:g}{TIMES}"))
    return parts


def _row(row: Row, y: int, axis: _Axis | None) -> list[str]:
    base = y + 15
    unit = row.metric.unit
    parts = [_text("end", _LABEL_RIGHT, base, row.metric.title)]
    if row.barnabas:
        parts.append(_text("end", _BARNABAS_RIGHT, base, format_figure(median(row.barnabas), unit)))
    if row.apache:
        parts.append(_text("quiet end", _APACHE_RIGHT, base, format_figure(median(row.apache), unit)))
    if axis is not None and row.times_better is not None:
        parts += _bar(row, row.times_better, y, axis)
    return parts


def _bar(row: Row, better: float, y: int, axis: _Axis) -> list[str]:
    one, end = axis.x(1), axis.x(better)
    left, width = min(one, end), max(abs(end - one), 1.5)
    parts = [_rectangle(left, y + 2, width, _ROW - 7, _BETTER if better >= 1 else _WORSE)]
    beside = max(one, end)
    target = row.metric.target
    if target is not None and target.of == "ratio":
        x = axis.x(target.bound if row.metric.more_is_better else 1 / target.bound)
        parts.append(_vertical(x, y - 1, y + _ROW - 2, _TARGET, 2))
        if beside < x < beside + _LABEL_WIDTH:
            beside = x
    label = f"{better:.1f}{TIMES}" if better >= 1.95 else f"{better:.2f}{TIMES}"
    parts.append(_text("beside", beside + 7, y + 15, label))
    return parts


def _legend(height: int, axis: _Axis | None) -> list[str]:
    y = height - 28
    if axis is None:
        return [_text("quiet", 30, y, "Apache Kafka was not measured in this run.")]
    return [
        _rectangle(30, y - 11, 22, 12, _BETTER),
        _text("quiet", 60, y, "times better than what is beside it (faster, or less time or memory)"),
        _rectangle(480, y - 11, 22, 12, _WORSE),
        _text("quiet", 510, y, "worse"),
        _vertical(570, y - 14, y + 4, _TARGET, 2),
        _text("quiet", 580, y, "target"),
    ]


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2.5" fill="{colour}"/>'


def _vertical(x: float, top: float, bottom: float, colour: str, width: int) -> str:
    ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'
