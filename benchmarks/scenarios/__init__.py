"""One file for each family of rows; `load_scenarios` lists those that need a running broker, in order."""

from __future__ import annotations

from benchmarks.scenarios import confluent, consume, latency, produce, small_requests
from benchmarks.scenarios.base import Scenario

_QUICK = (
    "produce/100B/acks=1/1p",
    "produce/1024B/acks=all/1p",
    "produce/100B/acks=1/100p",
    "small/1c/1p",
    "small/4c/1p",
    "fetch/1000kB/1p",
    "latency/raw",
    "confluent/produce/100B/acks=all/1p",
    "confluent/consume/100B",
    "confluent/latency",
)


def load_scenarios(*, quick: bool = False) -> list[Scenario]:
    families = (produce, small_requests, consume, latency, confluent)
    scenarios = [scenario for family in families for scenario in family.scenarios()]
    return [scenario for scenario in scenarios if not quick or scenario.name in _QUICK]
