"""One file for each family of rows; `load_scenarios` lists those that need a running broker, in order."""

from __future__ import annotations

from benchmarks.scenarios import (
    cluster,
    cluster_failover,
    cluster_scale,
    commits,
    compaction,
    confluent,
    confluent_groups,
    consume,
    groups,
    latency,
    produce,
    small_requests,
    stalls,
    transactions,
)
from benchmarks.scenarios.base import Scenario, Settings
from benchmarks.scenarios.cluster import ClusterScenario

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
    "groups/join/classic/10",
    "groups/join/classic/100",
    "groups/join/consumer/10",
    "groups/join/consumer/100",
    "groups/leave/classic/10",
    "groups/leave/consumer/10",
    "groups/confluent/classic/1",
    "groups/confluent/consumer/10",
    "commits/1p",
    "heartbeats/1000",
    "transactions/1r/1c",
    "transactions/100r/1c",
    "transactions/latency",
    "transactions/confluent/1r",
    "compaction/100B",
    "compaction/1000B",
    "compaction/latency",
)

_QUICK_ON_CLUSTERS = ("cluster/produce", "cluster/small", "cluster/confluent/acks=all", "cluster/kill")

_LONG = ("heartbeats/1000", "compaction/100B", "compaction/1000B")
_LONGEST = ("compaction/latency",)
_ONCE = "stalls/"


def load_scenarios(*, quick: bool = False) -> list[Scenario]:
    families = (
        produce,
        small_requests,
        consume,
        latency,
        confluent,
        groups,
        confluent_groups,
        commits,
        transactions,
        compaction,
        stalls,
    )
    scenarios = [scenario for family in families for scenario in family.scenarios()]
    return [scenario for scenario in scenarios if not quick or scenario.name in _QUICK]


def cluster_scenarios(settings: Settings, *, quick: bool = False) -> list[ClusterScenario]:
    """Those that need a running cluster, in order."""
    failovers = [cluster_failover.LeaderGoes(is_clean=is_clean) for is_clean in (False, True)]
    scale = cluster_scale.ManyPartitions(settings.cluster_partitions)
    every = (*cluster.scenarios(), *failovers, scale)
    return [each for each in every if not quick or each.name in _QUICK_ON_CLUSTERS]


def rounds_of(name: str, rounds: int, settings: Settings) -> int:
    """Fewer rounds for what takes long."""
    if name in _LONGEST or name.startswith(_ONCE):
        return 1
    return min(rounds, settings.long_rounds) if name in _LONG else rounds
