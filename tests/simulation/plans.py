"""What a simulation is to do: how many brokers, for how long, with which faults. Made from a seed.

Each entry of `PLANS` is a family of simulations; a failing run is named by its family and its seed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tests.simulation.faults import KINDS, Fault, generate
from tests.simulation.leases import SESSION_SECONDS

_SECONDS = 6.0
_FAULTS = 5


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
    administration: bool = False
    """Whether a client creates, grows and deletes topics, too."""
    groups: int = 1
    keeps_everything: bool = True
    """Whether acknowledged records survive every fault of the list: not if all replicas of one lose power,
    and not if a leader may be elected outside of the ISR."""
    factor: int = 3
    joining: int = 0
    """So many of the brokers are started by a fault (`join`), or when everything is healed."""
    allows_unclean_elections: bool = False
    has_roles: bool = False
    """Whether the controller has no replica: it has one role, each replica has another."""
    controller_follows: bool = False
    """Whether the controller is the first follower."""
    max_lag_ms: int = 1500
    """`replica.lag.time.max.ms`."""

    @property
    def replication_factor(self) -> int:
        return min(self.factor, self.brokers - self.joining)

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
            "broker.session.timeout.ms": str(int(SESSION_SECONDS * 1000)),
            "replica.lag.time.max.ms": str(self.max_lag_ms),
            "replica.fetch.wait.max.ms": str(min(500, self.max_lag_ms // 2)),
            "replica.fetch.backoff.ms": str(self.max_lag_ms // 5),
            "unclean.leader.election.enable": str(self.allows_unclean_elections).lower(),
            **({"log.flush.interval.messages": "1"} if self.flushes else {}),
        }


def _without(*kinds: str) -> Mapping[str, int]:
    return {kind: weight for kind, weight in KINDS.items() if kind not in kinds}


def one_broker(seed: int) -> Plan:
    """A broker alone that is killed, stopped and cut off: it loses nothing."""
    kinds = _without("cut_power", "elect")
    return Plan(seed, generate(seed, _FAULTS, _SECONDS, 1, kinds), seconds=_SECONDS)


def power_cuts(seed: int) -> Plan:
    """A broker alone that loses power, and syncs every record before it acknowledges it: it loses nothing."""
    kinds = {**_without("elect"), "cut_power": 6}
    return Plan(seed, generate(seed, _FAULTS, _SECONDS, 1, kinds), seconds=_SECONDS, flushes=True)


def three_brokers(seed: int) -> Plan:
    """Three replicas, two of which must have a record: nothing is lost while they are killed in turn."""
    faults = generate(seed, _FAULTS, _SECONDS, 3, _without("cut_power"))
    return Plan(seed, faults, 3, seconds=_SECONDS, min_insync_replicas=2)


def dying_in_turn(seed: int) -> Plan:
    """Brokers die until none is left in the ISR but the last; leaders come from the ELR (KIP-966)."""
    kinds = {"kill": 6, "pause": 3, "restart": 2, "isolate_from_store": 2, "elect": 1, "slow_disk": 1}
    faults = generate(seed, 8, _SECONDS, 3, kinds)
    return Plan(seed, faults, 3, seconds=_SECONDS, min_insync_replicas=2)


def power_cut_of_one(seed: int) -> Plan:
    """One of three brokers loses power again and again, and does not sync: the others have it all."""
    faults = generate(seed, 3, _SECONDS, 3, _without("cut_power"))
    cuts = [replace(each, broker=seed % 3) for each in generate(seed + 1, 3, _SECONDS, 3, {"cut_power": 1})]
    merged = tuple(sorted([*faults, *cuts], key=lambda fault: fault.at))
    return Plan(seed, merged, 3, seconds=_SECONDS, min_insync_replicas=2)


def failovers(seed: int) -> Plan:
    """Leaders change all the time, while followers lag: logs diverge and are truncated."""
    kinds = {"elect": 8, "isolate": 5, "pause": 3, "expire_session": 2, "kill": 2, "move_controller": 1}
    faults = generate(seed, 10, _SECONDS, 3, kinds)
    return Plan(seed, faults, 3, 1, _SECONDS, min_insync_replicas=1 + seed % 2, transactions=False)


def unclean_elections(seed: int) -> Plan:
    """Leaders from outside of the ISR: acknowledged records may be lost, replicas are equal in the end."""
    kinds = {**_without("cut_power"), "kill": 8}
    faults = generate(seed, 8, _SECONDS, 3, kinds)
    return Plan(
        seed, faults, 3, seconds=_SECONDS, keeps_everything=False, allows_unclean_elections=True, groups=0
    )


def reassignments(seed: int) -> Plan:
    """Partitions get other replicas, while brokers join, are killed and cut off."""
    kinds = {**_without("cut_power"), "reassign": 10, "join": 3}
    faults = generate(seed, 8, _SECONDS, 4, kinds)
    return Plan(seed, faults, 4, 1, _SECONDS, min_insync_replicas=2, factor=2 + seed % 2, joining=1)


def coordinators(seed: int) -> Plan:
    """Brokers die in turn while the others are cut off from each other: coordinators load for long."""
    faults = [Fault("slow_disk", 0.5, number, seconds=_SECONDS) for number in range(3)]
    for number in range(3):
        dead, one, other = ((seed + number + each) % 3 for each in range(3))
        at = 0.8 + 1.9 * number
        faults += [
            Fault("isolate", at, one, other, "both", 0.8),
            Fault("kill", at + 0.05, dead, seconds=1.3),
            Fault("expire_session", at + 0.1, dead),
        ]
    return Plan(seed, tuple(faults), 3, 1, _SECONDS, max_lag_ms=500, transactions=False, groups=3)


PLANS: Mapping[str, Callable[[int], Plan]] = {
    make.__name__: make
    for make in (
        one_broker,
        power_cuts,
        three_brokers,
        dying_in_turn,
        power_cut_of_one,
        failovers,
        unclean_elections,
        reassignments,
        coordinators,
    )
}
