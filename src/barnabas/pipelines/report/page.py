"""The page: one file that needs nothing else, no script, no network; light or dark as the reader likes."""

from datetime import UTC, datetime
from html import escape
from pathlib import Path

from barnabas.pipelines.report.figures import Figures
from barnabas.pipelines.report.highlights import highlights
from barnabas.pipelines.report.sections import html, sections, tiles

_STYLE = Path(__file__).with_name("style.css")


def page(figures: Figures, heading: str = "What happened") -> str:
    sentences = [*highlights(figures), *filter(None, [figures.remark])]
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    numbers = "".join(
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(value)}</b>{line}</div>'
        for name, value, line in tiles(figures)
    )
    body = "".join(html(section) for section in sections(figures)) or "<p>The tables are empty.</p>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)}</title><style>{_STYLE.read_text()}</style></head><body><main>"
        f'<header><p class="span">{escape(_span(figures))}</p><h1>{escape(heading)}</h1>'
        f'<ul class="highlights">{items}</ul></header><div class="tiles">{numbers}</div>'
        f'<div class="plots">{body}</div>'
        f"<footer>Made by barnabas pipeline run report, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. "
        f"All times are UTC; a point is {_width(figures.bucket)} wide.</footer></main></body></html>"
    )


def _span(figures: Figures) -> str:
    if figures.first is None or figures.last is None:
        return "No events"
    first, last = (
        datetime.fromtimestamp(time, UTC) for time in (figures.first, figures.last + figures.bucket)
    )
    day = f"{first:%A}, {first.day} {first:%B %Y}"
    if first.date() == last.date():
        return f"{day}, {first:%H:%M} to {last:%H:%M} UTC"
    return f"{day} {first:%H:%M} to {last:%A}, {last.day} {last:%B %H:%M} UTC"


def _width(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    if rest:
        return f"{seconds} seconds"
    return "one minute" if minutes == 1 else f"{minutes} minutes"
