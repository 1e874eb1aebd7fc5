"""The highlights of the report, in sentences: a summary of ten seconds."""

import pandas as pd

from barnabas.pipelines.report.charts.ticks import clock, short
from barnabas.pipelines.report.figures import Figures

_FEWEST = 20
"""Requests in a bucket below which a share of errors says nothing."""


def highlights(figures: Figures) -> list[str]:
    sentences = (_busiest(figures), _failing(figures), _slowest(figures), _loved(figures), _troubled(figures))
    return [sentence for sentence in sentences if sentence]


def _busiest(figures: Figures) -> str:
    if figures.traffic is None or figures.traffic.empty:
        return ""
    requests = figures.traffic.groupby("time")["requests"].sum()
    per_minute = requests.max() * 60 / figures.bucket
    return f"Busiest at {clock(requests.idxmax())}, with {short(float(round(per_minute)))} requests a minute."


def _failing(figures: Figures) -> str:
    if figures.traffic is None or figures.traffic.empty:
        return ""
    frame = figures.traffic[figures.traffic["requests"] >= _FEWEST]
    if not (frame["errors"] > 0).any():
        return "No service failed noticeably."
    worst = frame.loc[(frame["errors"] / frame["requests"]).idxmax()]
    share = worst["errors"] / worst["requests"]
    return f"Worst failures: {worst['service']} at {clock(worst['time'])}, {share:.0%} of its requests."


def _slowest(figures: Figures) -> str:
    frame = figures.latency
    if frame is None or frame.empty:
        return ""
    worst, usual = frame.loc[frame["p95"].idxmax()], frame["p95"].median()
    return (
        f"Slowest at {clock(worst['time'])}: one request in twenty took {short(float(worst['p95']))} ms "
        f"or more (usually {short(float(usual))} ms)."
    )


def _loved(figures: Figures) -> str:
    frame = figures.pages
    if frame is None or frame.empty or not frame["views"].sum():
        return ""
    best = frame.loc[frame["views"].idxmax()]
    return f"Most seen: {best['page']}, {best['views'] / frame['views'].sum():.0%} of all page views."


def _troubled(figures: Figures) -> str:
    frame = figures.alerts
    if frame is None or frame.empty:
        return ""
    hosts = pd.unique(frame.sort_values("window_start")["host"])
    named = ", ".join(str(host) for host in hosts[:3]) + (" and others" if len(hosts) > 3 else "")
    return f"{len(frame)} alerts, from {named}."
