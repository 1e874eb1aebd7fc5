"""`Frame`: the field of a plot with its axes; it turns numbers and times into positions.

Text is never coloured here: classes (`axis`, `grid`, `s1`...) leave it to the style sheet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from barnabas.pipelines.report.charts.ticks import number_ticks, short, time_label, time_ticks

WIDE, HALF = 1040, 510


def tag(name: str, content: str = "", **attributes: object) -> str:
    """`class_` is `class`; `_` in a name is `-`; numbers are cut to a tenth of a point."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    return tag("text", escape(content), x=x, y=y, class_=kind or "axis", text_anchor=anchor)


def title(content: str) -> str:
    """What a browser shows when the pointer rests on a shape."""
    return f"<title>{escape(content)}</title>"


def svg(width: float, height: float, label: str, *parts: str) -> str:
    body = title(label) + "".join(parts)
    return tag("svg", body, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label)


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else escape(str(value))


@dataclass(frozen=True, slots=True)
class Frame:
    width: float
    height: float
    first: float
    last: float
    """Times at the left and right edge."""
    highest: float
    left: float = 46
    right: float = 14
    top: float = 10
    bottom: float = 24

    def x(self, time: float) -> float:
        share = (time - self.first) / max(self.last - self.first, 1e-9)
        return self.left + share * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        return self.base - value / self.ceiling * (self.base - self.top)

    @property
    def base(self) -> float:
        return self.height - self.bottom

    @property
    def ceiling(self) -> float:
        return number_ticks(self.highest)[-1]

    def value_axis(self, unit: str = "") -> str:
        parts = []
        for value in number_ticks(self.highest):
            y, label = self.y(value), short(value)
            kind = "base" if value == 0 else "grid"
            parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=y, y2=y, class_=kind))
            parts.append(text(self.left - 8, y + 4, label, anchor="end"))
        if unit:
            parts.append(text(self.left, self.top - 2, unit, "unit"))
        return "".join(parts)

    def time_axis(self, most: int = 9) -> str:
        ticks = time_ticks(self.first, self.last, most)
        return "".join(
            text(self.x(time), self.height - 6, time_label(time, (self.first, self.last)), anchor="middle")
            for time in ticks
        )
