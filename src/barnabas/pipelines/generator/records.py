"""The three records that are made, and how each is written on the wire.

Times are ms since 1970. An access log has whole seconds only, as Apache's combined format has.
"""

import functools
from datetime import UTC, datetime
from typing import NamedTuple

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class AccessLog(NamedTuple):
    """A line of a web server: the combined log format, then latency in ms and the service."""

    time_ms: int
    address: str
    user: str
    method: str
    path: str
    status: int
    size: int
    referrer: str
    agent: str
    latency_ms: int
    service: str

    @property
    def key(self) -> bytes:
        return self.service.encode()

    def encode(self) -> bytes:
        return (
            f"{self.address} - {self.user} [{_log_time(self.time_ms // 1000)}] "
            f'"{self.method} {self.path} HTTP/1.1" {self.status} {self.size} '
            f'"{self.referrer}" "{self.agent}" {self.latency_ms} {self.service}'
        ).encode()


class Activity(NamedTuple):
    """A page view, or a click on an element of a page."""

    time_ms: int
    event_id: str
    type: str
    user: str
    page: str
    element: str | None
    device: str
    country: str

    @property
    def key(self) -> bytes:
        return self.user.encode()

    def encode(self) -> bytes:
        element = "" if self.element is None else f'"element":"{self.element}",'
        return (
            f'{{"event_id":"{self.event_id}","type":"{self.type}","user":"{self.user}","page":"{self.page}",'
            f'{element}"device":"{self.device}","country":"{self.country}","time":"{iso(self.time_ms)}"}}'
        ).encode()


class Sample(NamedTuple):
    """One value of one metric of one host."""

    time_ms: int
    host: str
    metric: str
    value: float

    @property
    def key(self) -> bytes:
        return self.host.encode()

    def encode(self) -> bytes:
        return (
            f'{{"host":"{self.host}","metric":"{self.metric}","value":{self.value},'
            f'"time":"{iso(self.time_ms)}"}}'
        ).encode()


Record = AccessLog | Activity | Sample


def iso(time_ms: int) -> str:
    """`2026-11-16T09:30:00.250Z`"""
    return f"{_second(time_ms // 1000)}.{time_ms % 1000:03d}Z"


@functools.lru_cache(maxsize=4096)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@functools.lru_cache(maxsize=4096)
def _log_time(second: int) -> str:
    """`16/Nov/2026:09:30:00 +0000`; the month is English whatever the locale."""
    moment = datetime.fromtimestamp(second, UTC)
    return f"{moment:%d}/{_MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000"
