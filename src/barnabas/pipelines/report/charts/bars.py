"""Bars: beside each other over time, above each other with names, and in groups of one length."""

from collections.abc import Mapping, Sequence

from barnabas.pipelines.report.charts.frame import HALF, Frame, svg, tag, text, title
from barnabas.pipelines.report.charts.ticks import clock, short

_ROW = 27.0


def named_bars(
    label: str,
    rows: Sequence[tuple[str, float, str]],
    kind: str = "s1",
    width: float = HALF,
    names: float = 120,
) -> str:
    """(name, value, what stands behind the bar), the longest bar as long as there is room."""
    highest = max([value for _, value, _ in rows] or [1])
    room = width - names - 70
    parts = []
    for number, (name, value, behind) in enumerate(rows):
        y, length = number * _ROW + 4, max(2.0, room * value / highest)
        about = title(f"{name}: {value:,.0f}")
        parts.append(text(names - 10, y + 14.5, name, "label", "end"))
        parts.append(tag("rect", x=names, y=y, width=room, height=19.0, rx=3, class_="track"))
        parts.append(tag("rect", about, x=names, y=y, width=length, height=19.0, rx=3, class_=f"bar {kind}"))
        parts.append(text(names + room + 8, y + 14.5, behind, "value"))
    return svg(width, len(rows) * _ROW + 6, label, *parts)


def stacked_columns(
    label: str, times: Sequence[float], series: Mapping[str, Sequence[float]], unit: str, width: float = HALF
) -> str:
    """A column for each time; the first series stands at the bottom."""
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    step = times[1] - times[0] if len(times) > 1 else 1.0
    frame = Frame(width, 250, times[0], times[-1] + step, max(totals), top=20)
    breadth = max(1.0, (frame.x(times[0] + step) - frame.x(times[0])) * 0.82)
    parts, below = [], [0.0] * len(times)
    for number, (name, values) in enumerate(series.items(), 1):
        for index, value in enumerate(values):
            top = frame.y(below[index] + value)
            about = title(f"{clock(times[index])}: {short(value)} {name}")
            if value:
                parts.append(tag("rect", about, x=frame.x(times[index]), y=top, width=breadth,
                                 height=frame.y(below[index]) - top, class_=f"bar s{number}"))  # fmt: skip
            below[index] += value
    return svg(width, 250, label, frame.value_axis(unit), *parts, frame.time_axis(6))


def histogram(
    label: str, counts: Mapping[int, int], unit: str, below: str, most: int, width: float = HALF
) -> str:
    """How many of each whole number; all from `most` on share the last column."""
    folded = [counts.get(number, 0) for number in range(most)]
    folded.append(sum(count for number, count in counts.items() if number >= most))
    frame = Frame(width, 250, 0, most + 1, max([*folded, 1]), top=20)
    breadth = (frame.x(1) - frame.x(0)) * 0.86
    parts = []
    for number, count in enumerate(folded):
        top, name = frame.y(count), f"{number}{'+' if number == most else ''}"
        about = title(f"{name} {below}: {count:,}")
        parts.append(tag("rect", about, x=frame.x(number), y=top, width=breadth, height=frame.base - top,
                         rx=2, class_="bar s2"))  # fmt: skip
        if number % 5 == 0:
            parts.append(text(frame.x(number) + breadth / 2, frame.height - 6, name, anchor="middle"))
    end = text(width - frame.right, frame.top - 2, below, "unit", "end")
    return svg(width, 250, label, frame.value_axis(unit), *parts, end)
