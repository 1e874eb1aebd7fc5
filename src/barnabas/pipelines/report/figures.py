"""`Figures`: the views of the report, read back as small pandas frames. A view that was not made is None."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from barnabas.pipelines.report.span import Span

_TIMES = {"traffic": "time", "latency": "time", "sessions": "time", "hosts": "time", "alerts": "window_start"}
"""Views over time, and the column that says when."""
_LETTERS = "dead_letters_"


@dataclass(frozen=True, slots=True)
class Figures:
    bucket: int
    """Seconds between two points in time."""
    traffic: pd.DataFrame | None = None
    latency: pd.DataFrame | None = None
    services: pd.DataFrame | None = None
    pages: pd.DataFrame | None = None
    sessions: pd.DataFrame | None = None
    session_lengths: pd.DataFrame | None = None
    hosts: pd.DataFrame | None = None
    alerts: pd.DataFrame | None = None
    dead_letters: pd.DataFrame | None = None
    remark: str = ""
    """What the plots over time leave out."""

    @property
    def is_empty(self) -> bool:
        return self.first is None

    @property
    def times(self) -> list[float]:
        """Every bucket from the first to the last one of any view, also those in which nothing happened."""
        first, last = self.first, self.last
        if first is None or last is None:
            return []
        return [first + self.bucket * number for number in range(int(last - first) // self.bucket + 1)]

    @property
    def first(self) -> float | None:
        return min((float(frame["time"].min()) for frame in self._timed()), default=None)

    @property
    def last(self) -> float | None:
        return max((float(frame["time"].max()) for frame in self._timed()), default=None)

    def _timed(self) -> list[pd.DataFrame]:
        found = (self.traffic, self.latency, self.sessions, self.hosts)
        return [frame for frame in found if frame is not None and len(frame)]


def read_figures(views: Path, bucket: int, span: Span | None = None) -> Figures:
    """From the directory of the materialized views; of those over time, only rows within the span."""
    found = {path.name: _read(path) for path in sorted(views.iterdir()) if any(path.glob("*.parquet"))}
    letters = [frame for name, frame in found.items() if name.startswith(_LETTERS) and len(frame)]
    named = {name: frame for name, frame in found.items() if not name.startswith(_LETTERS)}
    if span is not None:
        for name, column in _TIMES.items():
            if name in named:
                named[name] = _within(named[name], column, bucket, span)
    return Figures(
        bucket,
        **named,
        dead_letters=pd.concat(letters, ignore_index=True) if letters else None,
        remark="" if span is None else span.remark,
    )


def _within(frame: pd.DataFrame, column: str, bucket: int, span: Span) -> pd.DataFrame:
    """The first bucket may begin before the span."""
    return frame[frame[column].between(span.first - bucket, span.last, inclusive="neither")]


def over_time(frame: pd.DataFrame, times: list[float], column: str, by: str) -> dict[str, list[float]]:
    """One list of values per name in `by`, with 0 where there is no row; the largest sum first."""
    wide = frame.pivot_table(index="time", columns=by, values=column, aggfunc="sum").reindex(times).fillna(0)
    order = wide.sum().sort_values(ascending=False).index
    return {str(name): [float(value) for value in wide[name]] for name in order}


def _read(path: Path) -> pd.DataFrame:
    """Times become seconds since 1970."""
    frame = pd.read_parquet(path)
    for column in frame.columns:
        if pd.api.types.is_datetime64_any_dtype(frame[column].dtype):
            times = pd.to_datetime(frame[column], utc=True).dt.as_unit("us")
            frame[column] = times.astype("int64") / 1e6
    return frame
