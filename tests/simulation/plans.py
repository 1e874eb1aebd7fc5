"""What a simulation is to do: how many brokers, for how long, with which faults. Made from a seed.

Each entry of `PLANS` is a family of simulations; a failing run is named by its family and its seed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.simulation.faults import KINDS, Fault, generate

_SECONDS = 10.0
_FAULTS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    faults: tuple[Fault, ...] = ()
    brokers: int = 1
    partitions: int = 2
    seconds: float = 30.0
    """How long clients write."""
    min_insync_replicas: int = 1
    flushes: bool = False
    """Whether every record is synced before it is acknowledged, so that one replica survives a power cut."""
    transactions: bool = True
    groups: bool = True
    administration: bool = False
    """Whether a client creates, grows and deletes topics, too."""
    keeps_everything: bool = True
    """Whether acknowledged records survive every fault of the list: not if all replicas of one lose power."""

    @property
    def replication_factor(self) -> int:
        return min(3, self.brokers)

    def properties(self) -> dict[str, str]:
        factor = str(self.replication_factor)
        return {
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": factor,
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": factor,
            "transaction.state.log.min.isr": str(self.min_insync_replicas),
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000",
            "group.initial.rebalance.delay.ms": "0",
            "log.cleaner.enable": "false",
            "num.recovery.threads.per.data.dir": "1",
            "auto.create.topics.enable": "false",
            **({"log.flush.interval.messages": "1"} if self.flushes else {}),
        }


def _without(*kinds: str) -> Mapping[str, int]:
    return {kind: weight for kind, weight in KINDS.items() if kind not in kinds}


def one_broker(seed: int) -> Plan:
    """A broker alone that is killed, stopped and cut off: it loses nothing."""
    kinds = _without("cut_power")
    return Plan(seed, generate(seed, _FAULTS, _SECONDS, 1, kinds), seconds=_SECONDS)


def power_cuts(seed: int) -> Plan:
    """A broker alone that loses power, and syncs every record before it acknowledges it: it loses nothing."""
    kinds = {**KINDS, "cut_power": 6}
    return Plan(seed, generate(seed, _FAULTS, _SECONDS, 1, kinds), seconds=_SECONDS, flushes=True)


def three_brokers(seed: int) -> Plan:
    """Three replicas, two of which must have a record: nothing is lost while they are killed in turn."""
    kinds = _without("cut_power")
    faults = generate(seed, _FAULTS, _SECONDS, 3, kinds)
    return Plan(seed, faults, 3, seconds=_SECONDS, min_insync_replicas=2)


PLANS: Mapping[str, Callable[[int], Plan]] = {
    "one_broker": one_broker,
    "power_cuts": power_cuts,
    "three_brokers": three_brokers,
}
