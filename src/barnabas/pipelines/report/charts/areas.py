"""Areas that lie on each other, and lines."""

from collections.abc import Mapping, Sequence

from barnabas.pipelines.report.charts.frame import WIDE, Frame, path, svg, tag, text, title
from barnabas.pipelines.report.charts.ticks import clock, short

Series = Mapping[str, Sequence[float]]
"""Values by name, one for each time."""


def stacked_areas(label: str, times: Sequence[float], series: Series, unit: str, width: float = WIDE) -> str:
    """The sum of all is the upper edge. The first series lies at the bottom."""
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    frame = Frame(width, 270, times[0], times[-1], max(totals), top=20)
    below, parts = [0.0] * len(times), []
    for number, (name, values) in enumerate(series.items(), 1):
        above = [low + value for low, value in zip(below, values, strict=True)]
        upper = [(frame.x(time), frame.y(value)) for time, value in zip(times, above, strict=True)]
        lower = [(frame.x(time), frame.y(value)) for time, value in zip(times, below, strict=True)]
        shape = path([*upper, *reversed(lower)]) + "Z"
        about = title(f"{name}: {short(sum(values))}")
        parts.append(tag("path", about, d=shape, class_=f"area s{number}"))
        below = above
    upper_edge = [(frame.x(time), frame.y(value)) for time, value in zip(times, totals, strict=True)]
    edge = tag("path", d=path(upper_edge), class_="edge")
    return svg(width, 270, label, frame.value_axis(unit), *parts, edge, frame.time_axis())


def lines(
    label: str, times: Sequence[float], series: Series, unit: str, width: float = WIDE, height: float = 270
) -> str:
    """A line for each name, named at its right end; the space between neighbours is tinted."""
    highest = max(max(values) for values in series.values())
    frame = Frame(width, height, times[0], times[-1], highest, top=20, right=52)
    parts, before = [], None
    for number, values in enumerate(series.values(), 1):
        points = [(frame.x(time), frame.y(value)) for time, value in zip(times, values, strict=True)]
        if before is not None:
            parts.append(tag("path", d=path([*points, *reversed(before)]) + "Z", class_=f"band s{number}"))
        parts.append(tag("path", d=path(points), class_=f"line s{number}"))
        before = points
    names = _names({name: frame.y(values[-1]) for name, values in series.items()}, width - 46)
    worst = _peak(frame, times, list(series.values())[-1], len(series))
    most = 9 if width == WIDE else 5
    return svg(width, height, label, frame.value_axis(unit), *parts, worst, names, frame.time_axis(most))


def sparkline(values: Sequence[float], kind: str = "s1") -> str:
    """A line without axes, for a number that changes."""
    highest = max([*values, 1e-9])
    step = 120 / max(len(values) - 1, 1)
    points = [(number * step, 27 - 24 * value / highest) for number, value in enumerate(values)]
    shape = path([(0, 30), *points, (120, 30)]) + "Z"
    drawn = tag("path", d=shape, class_=f"band {kind}") + tag("path", d=path(points), class_=f"line {kind}")
    return tag(
        "svg", drawn, viewBox="0 0 120 30", class_="spark", preserveAspectRatio="none", aria_hidden="true"
    )


def _peak(frame: Frame, times: Sequence[float], values: Sequence[float], number: int) -> str:
    """The highest point, marked; its value is shown when the pointer rests on it."""
    where = max(range(len(values)), key=lambda index: values[index])
    about = title(f"{short(values[where])} at {clock(times[where])}")
    return tag(
        "circle", about, cx=frame.x(times[where]), cy=frame.y(values[where]), r=3.2, class_=f"dot s{number}"
    )


def _names(positions: Mapping[str, float], x: float) -> str:
    """Names beside the ends of lines, moved apart where they would touch."""
    parts, last = [], float("inf")
    for number, (name, y) in sorted(enumerate(positions.items(), 1), key=lambda each: -each[1][1]):
        last = min(y, last - 14)
        parts.append(text(x, last + 4, name, f"name s{number}"))
    return "".join(parts)
