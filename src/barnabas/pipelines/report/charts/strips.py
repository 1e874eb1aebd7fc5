"""Rows over time: a strip of cells for each name, and a line of events for each."""

from collections.abc import Mapping, Sequence

from barnabas.pipelines.report.charts.frame import WIDE, Frame, svg, tag, text, title
from barnabas.pipelines.report.charts.ticks import clock

_ROW = 30.0
_NAMES = 150.0
_SHAPES = {"threshold": "M-6-6H6V6H-6Z", "change": "M0-7L7 6H-7Z", "silence": "M0-7L7 0L0 7L-7 0Z"}
"""Kinds of alerts are distinguishable without colours too."""


def heat_strips(
    label: str, times: Sequence[float], rows: Mapping[str, tuple[Sequence[float], str]], width: float = WIDE
) -> str:
    """For each name: a share (0 to 1) per time as depth of colour, and a text behind the strip.

    The square root of the share is shown: a failure in a hundred is to be seen, too.
    """
    step = times[1] - times[0] if len(times) > 1 else 1.0
    height = len(rows) * _ROW + 26
    frame = Frame(width, height, times[0], times[-1] + step, 1, left=80, right=120)
    breadth = frame.x(times[0] + step) - frame.x(times[0])
    deepest = max([share for shares, _ in rows.values() for share in shares] + [0.04])
    parts = []
    for number, (name, (shares, behind)) in enumerate(rows.items()):
        y = number * _ROW
        parts.append(text(70, y + 17, name, "label", "end"))
        parts.append(
            tag(
                "rect",
                x=frame.x(times[0]),
                y=y,
                width=breadth * len(times),
                height=24.0,
                rx=3,
                class_="track",
            )
        )
        for time, share in zip(times, shares, strict=True):
            if share > 0:
                depth = (share / deepest) ** 0.5
                about = title(f"{name} {clock(time)}: {share:.1%}")
                cell = {"x": frame.x(time), "y": y, "width": breadth + 0.3, "height": 24.0}
                parts.append(tag("rect", about, **cell, class_="heat", style=f"opacity:{depth:.2f}"))
        parts.append(text(width - 110, y + 17, behind, "value"))
    return svg(width, height, label, *parts, frame.time_axis())


def timeline(
    label: str,
    first: float,
    last: float,
    rows: Mapping[str, Sequence[tuple[float, float, str, str]]],
    width: float = WIDE,
) -> str:
    """For each name its events: (begin, end, kind, text of the tooltip). Long ones are bars."""
    height = len(rows) * _ROW + 30
    frame = Frame(width, height, first, last, 1, left=_NAMES + 14, right=20)
    parts = []
    for number, (name, events) in enumerate(rows.items()):
        y = number * _ROW + 14
        parts.append(text(_NAMES, y + 4, name, "label", "end"))
        parts.append(tag("line", x1=frame.left, x2=width - frame.right, y1=y, y2=y, class_="grid"))
        # Bars first: what happened at their edges lies on them.
        for begin, end, kind, about in sorted(events, key=lambda event: event[2] != "threshold"):
            x1, x2 = frame.x(begin), frame.x(end)
            if kind == "threshold" and x2 - x1 > 12:
                parts.append(
                    tag(
                        "rect",
                        title(about),
                        x=x1,
                        y=y - 6,
                        width=x2 - x1,
                        height=12.0,
                        rx=6,
                        class_=f"mark {kind}",
                    )
                )
            else:
                where = f"translate({(x1 + x2) / 2:.1f} {y:.1f})"
                shape = _SHAPES.get(kind, _SHAPES["threshold"])
                parts.append(tag("path", title(about), d=shape, transform=where, class_=f"mark {kind}"))
    return svg(width, height, label, *parts, frame.time_axis())
