"""The world the events come from: pages and the services behind them, browsers, countries, hosts, metrics."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    path: str
    service: str
    """The service that is requested when the page is shown."""
    weight: float
    elements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    latency_ms: float
    """The median."""
    failures: float
    """The share of answers 5xx on a good day."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    low: float
    high: float
    """Where the values of healthy hosts lie; each host has its own level in between."""
    noise: float
    trouble: float
    """The level of a host in trouble."""
    ceiling: float = 100.0


SERVICES: dict[str, Service] = {
    each.name: each
    for each in (
        Service("web", 18, 0.002),
        Service("catalog", 35, 0.004),
        Service("search", 80, 0.006),
        Service("checkout", 120, 0.008),
        Service("auth", 25, 0.003),
    )
}

PAGES: tuple[Page, ...] = (
    Page("/", "catalog", 20, ("banner", "menu", "search-box")),
    Page("/search", "search", 16, ("result", "filter", "next-page")),
    *(
        Page(f"/product/{number}", "catalog", 30 / number, ("add-to-cart", "photo", "reviews"))
        for number in range(1, 31)
    ),
    Page("/cart", "checkout", 9, ("remove", "checkout")),
    Page("/checkout", "checkout", 5, ("pay",)),
    Page("/login", "auth", 6, ("sign-in", "forgot-password")),
    Page("/help", "web", 2, ("contact",)),
)

DEVICES = {
    "desktop": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "phone": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
    "tablet": "Mozilla/5.0 (Linux; Android 15; SM-X710) AppleWebKit/537.36 Chrome/138.0 Safari/537.36",
}
COUNTRIES = ("DE", "US", "FR", "IN", "BR", "CN", "GB", "NG")

METRICS: tuple[Metric, ...] = (
    Metric("cpu_percent", 20, 50, 2.0, 97),
    Metric("memory_percent", 35, 60, 0.6, 96),
    Metric("disk_percent", 30, 70, 0.05, 95),
    Metric("request_latency_ms", 25, 60, 4.0, 900, math.inf),
)
SAMPLE_INTERVAL_MS = 10_000
