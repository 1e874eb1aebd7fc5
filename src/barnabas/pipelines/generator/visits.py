"""Visits: what one person does on the site, and which lines it leaves in the logs of the services.

A person has one visit at a time, and comes back only after `SESSION_GAP_MS` without an event: a session
window with that gap finds the visits again, exactly. Within a visit no two events are further apart than
`_LONGEST_PAUSE`.
"""

import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.pipelines.generator.incidents import Outage, outages
from barnabas.pipelines.generator.plan import Plan
from barnabas.pipelines.generator.records import AccessLog, Activity
from barnabas.pipelines.generator.traffic import Traffic
from barnabas.pipelines.generator.world import COUNTRIES, DEVICES, PAGES, SERVICES, Page

SESSION_GAP_MS = 30 * 60_000
EVENTS_PER_VISIT = 16.0
"""Log lines, views and clicks together; measured over many seeds."""
_LONGEST_PAUSE = 600.0
_ANOTHER_PAGE = 0.78
_CLICK = 0.55


class Visit(NamedTuple):
    start_ms: int
    user: str
    activities: list[Activity]
    logs: list[AccessLog]


class Visits:
    """The visits of a plan, by the time they begin; none has an event at or after the plan's end."""

    def __init__(self, plan: Plan, events_per_second: float) -> None:
        self._plan: Plan = plan
        per_second = events_per_second / EVENTS_PER_VISIT
        self.traffic: Traffic = Traffic(plan, per_second)
        self.outages: tuple[Outage, ...] = outages(plan)
        self._chance: random.Random = plan.chance("visits")
        self._users: int = max(200, int(per_second * 4 * 3 * SESSION_GAP_MS / 1000))
        self._free_at: dict[int, int] = {}
        self._number: int = 0

    def __iter__(self) -> Iterator[Visit]:
        for start in self.traffic.arrivals():
            visit = self._visit(start)
            if visit is not None:
                yield visit

    def _visit(self, start: int) -> Visit | None:
        user = self._free_user(start)
        if user is None:
            return None
        visit = Visit(start, f"user-{user}", [], [])
        self._walk(visit, f"198.51.{user // 250 % 250}.{user % 250 + 1}")
        last = max(each.time_ms for each in visit.activities)
        self._free_at[user] = last + SESSION_GAP_MS + 1000
        return visit

    def _free_user(self, start: int) -> int | None:
        for _ in range(20):
            # Squared: some people come often, most seldom.
            user = int(self._chance.random() ** 2 * self._users)
            if self._free_at.get(user, 0) <= start:
                return user
        return None

    def _walk(self, visit: Visit, address: str) -> None:
        chance, end = self._chance, self._plan.end_ms
        device = chance.choices(tuple(DEVICES), (5, 6, 1))[0]
        country = chance.choice(COUNTRIES)
        now, referrer = visit.start_ms, "-"
        while now < end:
            page = chance.choices(PAGES, cum_weights=_CUMULATED)[0]
            self._view(visit, page, now, device, country)
            for service in {"web": 1, page.service: 1}:
                visit.logs.append(self._line(visit, address, now, service, page, referrer, device))
            if chance.random() < _CLICK:
                now += int(1000 * chance.uniform(0.5, 20))
                if now < end:
                    self._view(visit, page, now, device, country, chance.choice(page.elements))
            if chance.random() > _ANOTHER_PAGE:
                return
            referrer = f"https://shop.example{page.path}"
            now += int(1000 * min(chance.lognormvariate(3.0, 1.0), _LONGEST_PAUSE))

    def _view(
        self, visit: Visit, page: Page, now: int, device: str, country: str, element: str | None = None
    ) -> None:
        self._number += 1
        kind = "view" if element is None else "click"
        event_id = f"{self._plan.seed:x}-{self._number:x}"
        visit.activities.append(
            Activity(now, event_id, kind, visit.user, page.path, element, device, country)
        )

    def _line(
        self, visit: Visit, address: str, now: int, service: str, page: Page, referrer: str, device: str
    ) -> AccessLog:
        chance, usual = self._chance, SERVICES[service]
        outage = next(
            (each for each in self.outages if each.service == service and each.start_ms <= now < each.end_ms),
            None,
        )
        latency = chance.lognormvariate(0, 0.5) * usual.latency_ms * (1 if outage is None else 6)
        draw = chance.random()
        if draw < (usual.failures if outage is None else outage.failures):
            status = 503 if outage is not None else 500
        elif draw > 0.98:
            status = 404
        else:
            status = 302 if page.path == "/login" and draw > 0.5 else 200
        method = "POST" if service in ("checkout", "auth") and draw > 0.6 else "GET"
        size = chance.randrange(300, 60_000) if status == 200 else chance.randrange(80, 600)
        path = page.path if service == "web" else f"/api/{service}{page.path}"
        return AccessLog(
            now // 1000 * 1000,
            address,
            visit.user,
            method,
            path,
            status,
            size,
            referrer,
            DEVICES[device],
            max(1, int(latency)),
            service,
        )


_CUMULATED = tuple(itertools.accumulate(page.weight for page in PAGES))
