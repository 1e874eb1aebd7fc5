"""The parts of the page: each turns figures into a heading, a sentence and plots. Empty without its view."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import pandas as pd

from barnabas.pipelines.report.charts.areas import lines, sparkline, stacked_areas
from barnabas.pipelines.report.charts.bars import histogram, named_bars, stacked_columns
from barnabas.pipelines.report.charts.frame import HALF
from barnabas.pipelines.report.charts.strips import heat_strips, timeline
from barnabas.pipelines.report.charts.ticks import clock, short
from barnabas.pipelines.report.figures import Figures, over_time

_TOP_PAGES = 12
_TOP_REASONS = 9
_LONGEST_MINUTES = 20
_METRICS = {
    "cpu_percent": "CPU, %",
    "memory_percent": "Memory, %",
    "disk_percent": "Disk, %",
    "request_latency_ms": "Request latency, ms",
}


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    sentence: str
    plot: str
    legend: tuple[str, ...] = ()
    is_wide: bool = True


def tiles(figures: Figures) -> list[tuple[str, str, str]]:
    """The large numbers on top: (what, how many, a small line)."""
    found: list[tuple[str, str, str]] = []
    times = figures.times
    if figures.traffic is not None and figures.latency is not None:
        sums = figures.traffic.groupby("time")[["requests", "errors"]].sum().reindex(times).fillna(0)
        shares = (sums["errors"] / sums["requests"].clip(lower=1)).tolist()
        slow = figures.latency.set_index("time")["p95"].reindex(times).fillna(0).tolist()
        failed = sums["errors"].sum() / max(sums["requests"].sum(), 1)
        found.append(("Requests", f"{sums['requests'].sum():,.0f}", sparkline(sums["requests"].tolist())))
        found.append(("Failed", f"{failed:.2%}", sparkline(shares, "s4")))
        found.append(("p95 latency", f"{_usual(slow)} ms", sparkline(slow, "s3")))
    if figures.sessions is not None and len(figures.sessions):
        begun = figures.sessions.groupby("time")["sessions"].sum().reindex(times).fillna(0)
        found.append(("Sessions", f"{begun.sum():,.0f}", sparkline(begun.tolist(), "s2")))
    if figures.alerts is not None:
        starts = (figures.alerts["window_start"] // figures.bucket * figures.bucket).value_counts()
        line = sparkline(starts.reindex(times).fillna(0).tolist(), "s5") if times else ""
        found.append(("Alerts", f"{len(figures.alerts):,}", line))
    if figures.dead_letters is not None:
        found.append(("Dead letters", f"{figures.dead_letters['letters'].sum():,}", ""))
    return found


def _usual(values: list[float]) -> str:
    return short(float(pd.Series(values).median()))


def sections(figures: Figures) -> list[Section]:
    made: Iterable[Section | None] = (
        _traffic(figures),
        _latency(figures),
        _errors(figures),
        _pages(figures),
        _sessions(figures),
        _lengths(figures),
        _letters(figures),
        _alerts(figures),
        *_hosts(figures),
    )
    return [section for section in made if section is not None]


def _traffic(figures: Figures) -> Section | None:
    if figures.traffic is None or figures.traffic.empty:
        return None
    times = figures.times
    series = over_time(figures.traffic, times, "requests", "service")
    per_minute = {name: [value * 60 / figures.bucket for value in values] for name, values in series.items()}
    plot = stacked_areas(
        "Requests per minute over time, by service", times, per_minute, "requests per minute"
    )
    return Section("Traffic", "Requests per minute, service upon service.", plot, tuple(series))


def _latency(figures: Figures) -> Section | None:
    if figures.latency is None or figures.latency.empty:
        return None
    frame = figures.latency.sort_values("time")
    series = {name: [float(value) for value in frame[name]] for name in ("p50", "p95", "p99")}
    plot = lines("Percentiles of latency over time", frame["time"].tolist(), series, "milliseconds")
    return Section(
        "Latency", "Half of all requests were faster than p50; one in a hundred was slower than p99.", plot
    )


def _errors(figures: Figures) -> Section | None:
    if figures.traffic is None or figures.services is None or figures.traffic.empty:
        return None
    times = figures.times
    requests = over_time(figures.traffic, times, "requests", "service")
    errors = over_time(figures.traffic, times, "errors", "service")
    total = figures.services.set_index("service")
    order = (total["errors"] / total["requests"]).sort_values(ascending=False).index
    rows = {}
    for name in map(str, order):
        shares = [bad / max(all_, 1) for bad, all_ in zip(errors[name], requests[name], strict=True)]
        share, count = total.loc[name, "errors"] / total.loc[name, "requests"], total.loc[name, "errors"]
        rows[name] = (shares, f"{share:.2%}  ({count:,})")
    plot = heat_strips("Share of failed requests over time, by service", times, rows)
    return Section("Errors per service", "The deeper the colour, the larger the share of answers 5xx.", plot)


def _pages(figures: Figures) -> Section | None:
    if figures.pages is None or figures.pages.empty:
        return None
    top = figures.pages.sort_values(["views", "page"], ascending=[False, True]).head(_TOP_PAGES)
    rows = [(row.page, float(row.views), f"{row.views:,}") for row in top.itertuples()]
    plot = named_bars("Pages with most views", rows)
    return Section("Top pages", f"The {len(rows)} pages that were seen most.", plot, is_wide=False)


def _sessions(figures: Figures) -> Section | None:
    if figures.sessions is None or figures.sessions.empty:
        return None
    series = over_time(figures.sessions, figures.times, "sessions", "device")
    times, folded = _folded(figures.times, series)
    plot = stacked_columns("Sessions that began, by device", times, folded, "sessions begun")
    return Section("Sessions", "When visits began, and on which device.", plot, tuple(series), is_wide=False)


def _folded(times: list[float], series: dict[str, list[float]]) -> tuple[list[float], dict[str, list[float]]]:
    """Columns need more room than points: as many buckets as there are for 40 columns become one."""
    step = max(1, -(-len(times) // 40))
    indexes = range(0, len(times), step)
    return [times[index] for index in indexes], {
        name: [sum(values[index : index + step]) for index in indexes] for name, values in series.items()
    }


def _lengths(figures: Figures) -> Section | None:
    if figures.session_lengths is None or figures.session_lengths.empty:
        return None
    frame = figures.session_lengths
    counts = {int(row.minutes): int(row.sessions) for row in frame.itertuples()}
    plot = histogram("How long sessions last", counts, "sessions", "minutes", _LONGEST_MINUTES)
    return Section(
        "Session length", "Minutes from the first event of a visit to its last.", plot, is_wide=False
    )


def _letters(figures: Figures) -> Section | None:
    frame = figures.dead_letters
    if frame is None or frame.empty:
        return None
    top = frame.sort_values(["letters", "topic", "reason"], ascending=[False, True, True]).head(_TOP_REASONS)
    rows = [
        (f"{row.topic}: {row.reason}", float(row.letters), f"{row.letters:,}") for row in top.itertuples()
    ]
    plot = named_bars("Dead letters by topic and reason", rows, "s4", names=225)
    return Section(
        "Dead letters",
        "Records that could not be parsed, by the reason in their headers.",
        plot,
        is_wide=False,
    )


def _alerts(figures: Figures) -> Section | None:
    frame, times = figures.alerts, figures.times
    if frame is None or frame.empty or not times:
        return None
    rows = {
        f"{host} {_short_metric(str(metric))}": _merged(group)
        for (host, metric), group in frame.sort_values("window_start").groupby(["host", "metric"], sort=False)
    }
    plot = timeline("Alerts over time", times[0], times[-1] + figures.bucket, rows)
    kinds = [kind for kind in ("threshold", "change", "silence") if (frame["kind"] == kind).any()]
    return Section("Alerts", "A bar lasts as long as a metric stays above its limit.", plot, tuple(kinds))


def _short_metric(metric: str) -> str:
    return metric.removesuffix("_percent").removesuffix("_ms").replace("_", " ").removeprefix("request ")


def _merged(group: pd.DataFrame) -> list[tuple[float, float, str, str]]:
    """Windows above a limit that follow each other are one event."""
    found: list[tuple[float, float, str, str]] = []
    for row in group.sort_values(["kind", "window_start"]).itertuples():
        begin, end = float(row.window_start), float(row.window_end)
        if found and found[-1][2] == row.kind == "threshold" and begin <= found[-1][1]:
            begin = found.pop()[0]
        mean = "" if pd.isna(row.mean) else f" ({short(float(row.mean))})"
        found.append((begin, end, row.kind, f"{clock(begin)}: {row.kind}, {row.message}{mean}"))
    return found


def _hosts(figures: Figures) -> list[Section]:
    if figures.hosts is None:
        return []
    made = []
    for metric, name in _METRICS.items():
        frame = figures.hosts[figures.hosts["metric"] == metric].sort_values("time")
        if len(frame) > 1:
            series = {"mean": frame["mean"].tolist(), "worst": frame["most"].tolist()}
            plot = lines(f"{name} over time", frame["time"].tolist(), series, "", HALF, 190)
            made.append(Section(name, "Mean over all hosts, and the worst of them.", plot, is_wide=False))
    return made


def html(section: Section) -> str:
    if section.legend[:1] in (("threshold",), ("change",), ("silence",)):
        keys = "".join(f'<li class="mark {escape(name)}">{escape(name)}</li>' for name in section.legend)
    else:
        keys = "".join(f'<li class="s{n}">{escape(name)}</li>' for n, name in enumerate(section.legend, 1))
    legend = f'<ul class="legend">{keys}</ul>' if keys else ""
    return (
        f'<section class="{"wide" if section.is_wide else "half"}"><h2>{escape(section.heading)}</h2>'
        f"<p>{escape(section.sentence)}</p>{legend}{section.plot}</section>"
    )
