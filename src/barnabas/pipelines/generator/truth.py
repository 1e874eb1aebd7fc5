"""`Truth`: what a run really made, counted while it was made; tests compare results with it.

Good records only, each once: neither garbage nor second copies. With `keep` the records themselves stay, for
a computation of one's own; without, only the counts do, and a run of any length fits into memory.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from barnabas.pipelines.generator.incidents import HostIncident, Outage
from barnabas.pipelines.generator.plan import Kind
from barnabas.pipelines.generator.records import AccessLog, Activity, Record, Sample
from barnabas.pipelines.generator.visits import Visit


@dataclass(frozen=True, slots=True)
class Session:
    user: str
    start_ms: int
    end_ms: int
    """The time of the last event."""
    views: int
    clicks: int


@dataclass(slots=True)
class Truth:
    keep: bool = True
    outages: tuple[Outage, ...] = ()
    incidents: tuple[HostIncident, ...] = ()
    records: Counter[Kind] = field(default_factory=Counter)
    malformed: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    """By kind and reason."""
    second_copies: int = 0
    late: int = 0
    sessions: int = 0
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Log lines by service and hour (`2026-11-16T09`, UTC)."""
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Those of them with a status of 500 or more."""
    views: Counter[str] = field(default_factory=Counter)
    """By page."""
    kept_logs: list[AccessLog] = field(default_factory=list)
    kept_activities: list[Activity] = field(default_factory=list)
    kept_samples: list[Sample] = field(default_factory=list)
    kept_sessions: list[Session] = field(default_factory=list)

    def add_visit(self, visit: Visit) -> None:
        self.sessions += 1
        for line in visit.logs:
            group = (line.service, hour_of(line.time_ms))
            self.requests[group] += 1
            self.errors[group] += line.status >= 500
        for activity in visit.activities:
            self.views[activity.page] += activity.type == "view"
        self.records[Kind.LOG] += len(visit.logs)
        self.records[Kind.ACTIVITY] += len(visit.activities)
        if self.keep:
            self.kept_logs += visit.logs
            self.kept_activities += visit.activities
            self.kept_sessions.append(_session(visit))

    def add_samples(self, samples: list[Sample]) -> None:
        self.records[Kind.METRIC] += len(samples)
        if self.keep:
            self.kept_samples += samples

    def sent(self, kind: Kind) -> int:
        """How many events of that kind a topic holds at the end, garbage and second copies included."""
        copies = self.second_copies if kind is Kind.ACTIVITY else 0
        garbage = sum(count for (of, _), count in self.malformed.items() if of is kind)
        return self.records[kind] + garbage + copies

    def summary(self) -> dict[str, object]:
        """The counts, for JSON."""
        return {
            "records": {kind.value: self.records[kind] for kind in Kind},
            "sent": {kind.value: self.sent(kind) for kind in Kind},
            "malformed": {
                kind.value: {reason: n for (of, reason), n in sorted(self.malformed.items()) if of is kind}
                for kind in Kind
            },
            "second_copies": self.second_copies,
            "late": self.late,
            "sessions": self.sessions,
            "requests": {f"{service} {hour}": n for (service, hour), n in sorted(self.requests.items())},
            "errors": {f"{service} {hour}": n for (service, hour), n in sorted(self.errors.items()) if n},
            "views": dict(self.views.most_common()),
            "outages": [f"{each.service} {each.start_ms} {each.end_ms}" for each in self.outages],
            "incidents": [
                f"{each.host} {each.metric} {each.kind} {each.start_ms} {each.end_ms}"
                for each in self.incidents
            ],
        }


def hour_of(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H")


def _session(visit: Visit) -> Session:
    times = [each.time_ms for each in visit.activities]
    views = sum(each.type == "view" for each in visit.activities)
    return Session(visit.user, min(times), max(times), views, len(visit.activities) - views)


__all__ = ["Record", "Session", "Truth", "hour_of"]
