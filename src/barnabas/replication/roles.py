"""The role of this broker for a partition: leader, follower, or offline. Objects without I/O.

`Partition` replaces its role when the cluster decides about it; a role is never given another leader epoch.
"""

from collections.abc import Callable, Sequence

from barnabas.metadata.image import NO_LEADER
from barnabas.replication import isr as in_sync
from barnabas.replication.isr import FollowerState, InSyncReplicas


class Leader:
    """The leader of one epoch: the in-sync set and what each follower has fetched.

    `durable_end` is the offset up to which the leader's own log may be acknowledged: the log end, or, where
    the topic requires a flush, the flushed part of it. It counts as the leader's log end offset when the high
    watermark is computed.
    """

    __slots__ = ("durable_end", "epoch", "epoch_start_offset", "followers", "isr", "replication_factor")

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        replicas: Sequence[int],
        isr: Sequence[int],
        now_ms: int,
        adding: Sequence[int] = (),
    ) -> None:
        self.epoch: int = epoch
        self.epoch_start_offset: int = in_sync.UNKNOWN_OFFSET
        """The log end offset when leadership began; unknown until the log is opened."""
        self.durable_end: int = in_sync.UNKNOWN_OFFSET
        self.replication_factor: int = 0
        """Without the replicas that a reassignment adds: they are not required yet."""
        self.isr: InSyncReplicas = InSyncReplicas(tuple(isr))
        self.followers: dict[int, FollowerState] = {}
        self.follow(broker_id, replicas, self.isr, adding)
        for each in isr:
            if each in self.followers:  # it has `replica.lag.time.max.ms` from now on to fetch
                self.followers[each].last_caught_up_ms = now_ms

    def follow(
        self, broker_id: int, replicas: Sequence[int], isr: InSyncReplicas, adding: Sequence[int] = ()
    ) -> None:
        """Apply the replicas and the in-sync set that the cluster has committed for this epoch."""
        self.isr, self.replication_factor = isr, len(set(replicas) - set(adding))
        known = self.followers
        self.followers = {each: known.get(each) or FollowerState() for each in replicas if each != broker_id}

    @property
    def has_begun(self) -> bool:
        return self.epoch_start_offset != in_sync.UNKNOWN_OFFSET

    def begin(self, log_end_offset: int, durable_end: int) -> None:
        """Leadership begins at the log end offset. The caller has recorded it with the epoch."""
        self.epoch_start_offset, self.durable_end = log_end_offset, durable_end

    def is_under_min_isr(self, min_insync_replicas: int) -> bool:
        return in_sync.is_under_min_isr(self.isr, self.replication_factor, min_insync_replicas)

    def high_watermark(
        self,
        min_insync_replicas: int,
        now_ms: int,
        max_lag_ms: int,
        is_eligible: Callable[[int, int], bool],
    ) -> int:
        """How far the high watermark may go; -1 while it must stand still.

        It stands still while fewer replicas are in sync than `min.insync.replicas` (KAFKA-15583).
        """
        if not self.followers:
            return self.durable_end
        if self.is_under_min_isr(min_insync_replicas):
            return in_sync.UNKNOWN_OFFSET
        return in_sync.high_watermark(
            self.durable_end, self.followers, self.isr, now_ms, max_lag_ms, is_eligible
        )


class Follower:
    """Another broker leads, or no broker does. This broker has a replica."""

    __slots__ = ("epoch", "leader_id")

    def __init__(self, leader_id: int, epoch: int) -> None:
        self.leader_id: int = leader_id
        self.epoch: int = epoch

    @property
    def has_leader(self) -> bool:
        return self.leader_id != NO_LEADER


class Offline:
    """This broker cannot serve the partition: its topic was deleted, or no image has named it yet."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason: str = reason


Role = Leader | Follower | Offline
