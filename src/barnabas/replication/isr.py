"""Which replicas are in sync and how far the high watermark may go. Pure decisions: no I/O, no clock.

The rules are those of Kafka's `Partition` and `Replica`:
- The high watermark is the lowest log end offset of the replicas that count: those of the in-sync set, those
  that were proposed for it (KIP-497), and those that are caught up and about to join.
- A follower is caught up if it has fetched up to the leader's log end within `replica.lag.time.max.ms`.
- A proposed change of the in-sync set counts at its worst until the controller answers: a replica that is to
  leave still counts, a replica that is to join counts already.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

UNKNOWN_OFFSET = -1
UNKNOWN_EPOCH = -1
_NEVER_MS = -(2**62)


@dataclass(frozen=True, slots=True)
class InSyncReplicas:
    """The in-sync set that the cluster has committed, and the change that was proposed to the controller."""

    committed: tuple[int, ...]
    proposed: tuple[int, ...] | None = None

    @property
    def maximal(self) -> frozenset[int]:
        """Every replica that may be in the in-sync set, whatever the controller answers."""
        return frozenset(self.committed) | frozenset(self.proposed or ())

    @property
    def is_pending(self) -> bool:
        return self.proposed is not None


@dataclass(slots=True)
class FollowerState:
    """What a leader knows of one follower from its fetches in this leader epoch."""

    log_end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    broker_epoch: int = UNKNOWN_EPOCH
    last_caught_up_ms: int = _NEVER_MS
    last_fetch_ms: int = _NEVER_MS
    last_fetch_leader_end: int = 0

    def on_fetch(
        self, fetch_offset: int, log_start_offset: int, leader_end: int, now_ms: int, broker_epoch: int
    ) -> None:
        """Note a successful fetch: a follower has everything below the offset it fetches from."""
        if fetch_offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end:
            # It has all that the leader had at the fetch before: it was caught up then.
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.last_fetch_ms = now_ms
        self.last_fetch_leader_end = max(self.last_fetch_leader_end, leader_end)
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.log_end_offset == leader_end or now_ms - self.last_caught_up_ms <= max_lag_ms


def high_watermark(
    leader_end: int,
    followers: Mapping[int, FollowerState],
    isr: InSyncReplicas,
    now_ms: int,
    max_lag_ms: int,
    is_eligible: Callable[[int, int], bool],
) -> int:
    """The lowest log end offset of the replicas that count. The caller never lets the watermark fall.

    `is_eligible` says whether a broker with an epoch may join the in-sync set: a broker that has died is not
    about to join, however lately it was caught up.
    """
    lowest, maximal = leader_end, isr.maximal
    for broker_id, follower in followers.items():
        counts = broker_id in maximal or (
            follower.is_caught_up(leader_end, now_ms, max_lag_ms)
            and is_eligible(broker_id, follower.broker_epoch)
        )
        if counts and follower.log_end_offset < lowest:
            lowest = follower.log_end_offset
    return lowest


def is_under_min_isr(isr: InSyncReplicas, replication_factor: int, min_insync_replicas: int) -> bool:
    """A topic cannot require more in-sync replicas than it has replicas (Kafka's effective min ISR)."""
    return len(isr.committed) < min(min_insync_replicas, replication_factor)


def lagging(
    followers: Mapping[int, FollowerState],
    isr: InSyncReplicas,
    leader_end: int,
    now_ms: int,
    max_lag_ms: int,
) -> list[int]:
    """Members of the in-sync set that did not catch up in time. None while a change is pending."""
    if isr.is_pending:
        return []
    return [
        broker_id
        for broker_id in isr.committed
        if broker_id in followers and not followers[broker_id].is_caught_up(leader_end, now_ms, max_lag_ms)
    ]


def may_join(follower: FollowerState, watermark: int, epoch_start_offset: int) -> bool:
    """Whether a follower has everything that a member of the in-sync set must have.

    Below the start of the leader's epoch its log may still differ from the leader's (KAFKA-7128).
    """
    return follower.log_end_offset >= watermark and follower.log_end_offset >= epoch_start_offset


def without(isr: InSyncReplicas, leaving: Iterable[int]) -> tuple[int, ...]:
    excluded = set(leaving)
    return tuple(broker_id for broker_id in isr.committed if broker_id not in excluded)
