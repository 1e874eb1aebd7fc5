"""`Run`: the events of a plan in the order of sending, late ones after their time, with the truth beside
them.

Visits and samples are drawn in the order they begin; a heap holds what is to be sent later.
"""

import heapq
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.pipelines.generator.garbage import spoil
from barnabas.pipelines.generator.plan import Kind, Plan
from barnabas.pipelines.generator.records import Record
from barnabas.pipelines.generator.samples import Samples
from barnabas.pipelines.generator.truth import Truth
from barnabas.pipelines.generator.visits import Visits

METRICS_SHARE = 0.1
"""Of all events; at least a few hosts give samples whatever the rate."""


class Event(NamedTuple):
    send_ms: int
    number: int
    """Unique: events of one time keep the order they were made in."""
    kind: Kind
    key: bytes
    value: bytes


class Run:
    """Iterate it once. `truth` is complete when the iteration has ended."""

    def __init__(self, plan: Plan, *, keep: bool = True) -> None:
        self.plan: Plan = plan
        self.visits: Visits = Visits(plan, plan.rate * (1 - METRICS_SHARE))
        self.samples: Samples = Samples(plan, plan.rate * METRICS_SHARE)
        self.truth: Truth = Truth(keep, self.visits.outages, self.samples.incidents)
        self._chance: random.Random = plan.chance("sending")
        self._number: int = 0

    def __iter__(self) -> Iterator[Event]:
        waiting: list[Event] = []
        for begin, events in heapq.merge(self._of_visits(), self._of_samples(), key=lambda group: group[0]):
            while waiting and waiting[0].send_ms <= begin:
                yield heapq.heappop(waiting)
            for event in events:
                heapq.heappush(waiting, event)
        while waiting:
            yield heapq.heappop(waiting)

    def _of_visits(self) -> Iterator[tuple[int, list[Event]]]:
        for visit in self.visits:
            self.truth.add_visit(visit)
            events = self._events(Kind.ACTIVITY, visit.activities)
            events += self._events(Kind.LOG, visit.logs)
            yield visit.start_ms // 1000 * 1000, events

    def _of_samples(self) -> Iterator[tuple[int, list[Event]]]:
        for samples in self.samples:
            self.truth.add_samples(samples)
            yield samples[0].time_ms, self._events(Kind.METRIC, samples)

    def _events(self, kind: Kind, records: Sequence[Record]) -> list[Event]:
        return [event for record in records for event in self._sendings(kind, record)]

    def _sendings(self, kind: Kind, record: Record) -> Iterable[Event]:
        plan, chance = self.plan, self._chance
        send, key, value = record.time_ms, record.key, record.encode()
        if chance.random() < plan.late:
            self.truth.late += 1
            send += int(1000 * min(chance.expovariate(1 / 60), plan.max_lateness))
        yield self._event(send, kind, key, value)
        if kind is Kind.ACTIVITY and chance.random() < plan.duplicates:
            self.truth.second_copies += 1
            yield self._event(send + chance.randrange(1, 20_000), kind, key, value)
        if chance.random() < plan.malformed:
            garbage = spoil(kind, record, chance)
            self.truth.malformed[kind, garbage.reason] += 1
            yield self._event(send, kind, key, garbage.value)

    def _event(self, send: int, kind: Kind, key: bytes, value: bytes) -> Event:
        self._number += 1
        return Event(send, self._number, kind, key, value)
