"""One partition on this broker: its log, its role, and the requests that wait for it.

Two frontiers move through the log. The leader's durable end is what its own log may acknowledge: the log end,
or, where the topic requires a flush, the flushed part. acks=1 waits for it. The high watermark is what every
replica that counts has; acks=all waits for it, and consumers read below it. Invariants:
- `log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset`.
- The high watermark comes from its checkpoint and is moved by leadership only (`replication.roles`). It never
  falls on a leader.
- The leader epoch is recorded with the log end offset before the log serves anything in that epoch.
- Waiting requests get their response after the state has changed, never during the change.
Called from the event loop's thread only.
"""

from uuid import UUID

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    FencedLeaderEpoch,
    KafkaError,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    StorageError,
    UnknownLeaderEpoch,
    UnknownServerError,
)
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import NO_LEADER, PartitionImage
from barnabas.metadata.isr_proposal import IsrProposal, IsrResult
from barnabas.records.deep_validation import DeepValidation
from barnabas.replication import isr as in_sync
from barnabas.replication.following_partition import FollowingPartition, must_flush
from barnabas.replication.isr import InSyncReplicas
from barnabas.replication.isr_proposals import REFUSED
from barnabas.replication.partition_environment import PartitionEnvironment
from barnabas.replication.roles import Follower, Leader, Offline, Role
from barnabas.replication.waiting import WaitingProducers, notify
from barnabas.storage.append_info import AppendInfo, AppendOrigin, LateAppend
from barnabas.storage.directory_worker import DirectoryStalled, Job
from barnabas.storage.log import Log

ALL = -1
_NEVER_FOLLOWED = Offline("the cluster has not assigned it yet")


class Partition(FollowingPartition):
    __slots__ = (
        "_hidden_size",
        "_image",
        "_is_closed",
        "_log",
        "_state_version",
        "_waiting_for_all",
        "_waiting_for_deletion",
        "_waiting_for_leader",
        "leader_epoch",
        "leader_id",
        "replicas",
        "role",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self, topic_partition: TopicPartition, topic_id: UUID, environment: PartitionEnvironment
    ) -> None:
        self.topic_partition: TopicPartition = topic_partition
        self.topic_id: UUID = topic_id
        self.role: Role = _NEVER_FOLLOWED
        self.leader_id: int = -1
        self.leader_epoch: int = -1
        self.replicas: tuple[int, ...] = ()
        super().__init__(environment)
        self._log: Log | None = None
        self._is_closed: bool = False
        self._image: PartitionImage | None = None
        self._state_version: int = -1
        self._hidden_size: int = 0
        """Bytes that were appended above the high watermark."""
        self._waiting_for_leader: WaitingProducers = WaitingProducers()
        self._waiting_for_all: WaitingProducers = WaitingProducers()
        self._waiting_for_deletion: WaitingProducers = WaitingProducers()

    # --- the role -----------------------------------------------------------------------------------

    def follow(self, image: PartitionImage) -> None:
        """Apply what the cluster decided about this partition. An older decision changes nothing."""
        if image.state_version < self._state_version or image == self._image:
            return
        is_same_state = image.state_version == self._state_version
        self._image, self._state_version = image, image.state_version
        self.leader_id, self.leader_epoch, self.replicas = image.leader, image.leader_epoch, image.replicas
        role, broker_id = self.role, self._environment.broker_id
        if image.leader != broker_id:
            self._follow_leader(image.leader, image.leader_epoch)
            return
        if isinstance(role, Leader) and role.epoch == image.leader_epoch:
            isr = role.isr if is_same_state else InSyncReplicas(image.isr)
            role.follow(broker_id, image.replicas, isr, image.adding)
        else:
            role = self.role = Leader(
                broker_id, image.leader_epoch, image.replicas, image.isr, self._now_ms(), image.adding
            )
        log = self._log
        if log is not None and not log.is_closed:
            self._lead(role, log)
            self._check_deletions()
        self._environment.on_role(self.topic_partition)
        if image.is_recovering:  # Elected outside of the ISR: there is nothing to recover from (KIP-704).
            self._propose(role, role.isr.committed)

    def _follow_leader(self, leader_id: int, epoch: int) -> None:
        """A follower of the same leader and epoch stays as it is: its fetches go on."""
        role = self.role
        if isinstance(role, Follower) and (role.leader_id, role.epoch) == (leader_id, epoch):
            return
        self.role = Follower(leader_id, epoch)
        self._fail_waiting(NotLeaderOrFollower("leadership moved to another broker"))
        self._environment.on_role(self.topic_partition)

    def resign(self) -> None:
        """Lead only what the cluster decides from now on: the registration of this broker has changed.

        A single replica goes on to lead: no other broker can be elected.
        """
        if isinstance(self.role, Leader) and len(self.replicas) > 1:
            self._follow_leader(NO_LEADER, self.leader_epoch)

    @property
    def is_leader(self) -> bool:
        return isinstance(self.role, Leader)

    @property
    def log(self) -> Log:
        """Returns the log, opened or created on first access. Raises StorageError if its disk has failed."""
        log = self._log
        if log is None or log.is_closed:
            if self._is_closed:  # Another topic may have this name now: its log is not this partition's.
                raise NotLeaderOrFollower(f"{self.topic_partition} is no longer on this broker")
            self._log = log = self._environment.logs.get(self.topic_partition, self.topic_id)
            role = self.role
            if isinstance(role, Leader):
                self._lead(role, log)
        return log

    def _lead(self, leader: Leader, log: Log) -> None:
        epochs = log.leader_epochs
        if (
            leader.epoch > epochs.latest_epoch
        ):  # Also after a log was opened again: without records it is lost.
            epochs.assign(leader.epoch, log.log_end_offset)
        if not leader.has_begun:
            leader.begin(log.log_end_offset, max(log.high_watermark, log.recovery_point))
        self._advance_durable_end(leader, log)

    def reopen(self) -> None:
        """The log has moved to another directory: go on with it there."""
        if self._log is not None and self._log.is_closed and not self._is_closed:
            self._log = None
            assert self.log is self._log

    @property
    def is_log_open(self) -> bool:
        return self._log is not None and not self._log.is_closed

    @property
    def is_known_empty(self) -> bool:
        """Whether there are no records, as far as that is known without opening the log."""
        return self._environment.logs.is_known_empty(self.topic_partition)

    @property
    def is_end_known(self) -> bool:
        """False while the high watermark of a new leader is below the start of its epoch (KIP-207)."""
        role = self.role
        return not isinstance(role, Leader) or self.log.high_watermark >= role.epoch_start_offset

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse a request for another broker or another leader epoch (KIP-320)."""
        if current_leader_epoch >= 0:
            self._check_epoch(current_leader_epoch)
        if not isinstance(self.role, Leader):
            raise self._not_leader()

    def check_replica_here(self, current_leader_epoch: int = -1) -> None:
        """The same for a request that any replica may serve (KIP-392)."""
        if current_leader_epoch >= 0:
            self._check_epoch(current_leader_epoch)
        if isinstance(self.role, Offline):
            raise NotLeaderOrFollower(self.role.reason)

    def _check_epoch(self, current_leader_epoch: int) -> None:
        if current_leader_epoch < self.leader_epoch:
            raise FencedLeaderEpoch(f"leader epoch {current_leader_epoch} is older than ours")
        if current_leader_epoch > self.leader_epoch:
            raise UnknownLeaderEpoch(f"leader epoch {current_leader_epoch} is newer than ours")

    def _not_leader(self) -> KafkaError:
        """As in Kafka, a replica in a failed log directory is KAFKA_STORAGE_ERROR, whichever broker leads."""
        if not self._is_closed and self._environment.logs.is_offline(self.topic_partition):
            return StorageError(f"the log directory of {self.topic_partition} is offline")
        broker_id = self._environment.broker_id
        return NotLeaderOrFollower(f"broker {broker_id} does not lead {self.topic_partition}")

    def check_replica(self, replica_id: int, current_leader_epoch: int = -1) -> None:
        """Refuse a fetch by a broker that has no replica: only replicas may read above the high watermark."""
        role = self.role
        if isinstance(role, Leader) and replica_id in role.followers:
            return
        message = f"broker {replica_id} is not a follower of {self.topic_partition}"
        # As in Kafka: the epoch may be newer than the assignment known here, so that the follower retries.
        raise UnknownLeaderEpoch(message) if current_leader_epoch >= 0 else NotLeaderOrFollower(message)

    def has_in_sync(self, replica_id: int) -> bool:
        role = self.role
        return isinstance(role, Leader) and replica_id in role.isr.committed

    # --- writing ------------------------------------------------------------------------------------

    def append(
        self,
        records: bytes | memoryview,
        acks: int,
        *,
        allow_zstd: bool = True,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int = 0,
        may_defer: bool = False,
        prepared: DeepValidation | None = None,
    ) -> AppendInfo:
        """Append as leader. `must_wait` and `when_acknowledged` say when the append may be acknowledged.

        `transaction_version` says by which rules the epoch of a marker is checked (KIP-890). `may_defer` and
        `prepared`: see `Log.append_as_leader`.
        """
        role = self.role
        if not isinstance(role, Leader):
            raise self._not_leader()
        log = self.log
        if acks == ALL and role.followers and role.is_under_min_isr(log.config.min_insync_replicas):
            raise NotEnoughReplicas(self._too_few(role, log))
        try:
            info = log.append_as_leader(
                records,
                role.epoch,
                origin=origin,
                allow_zstd=allow_zstd,
                transaction_version=transaction_version,
                may_defer=may_defer,
                prepared=prepared,
            )
        except DirectoryStalled as stalled:
            if stalled.job is None:
                raise
            return self._append_late(log, stalled.job, len(records), acks)
        if not info.duplicate:
            self._appended(role, log, info, len(records))
        return info

    def _too_few(self, leader: Leader, log: Log) -> str:
        return (
            f"{self.topic_partition} has {len(leader.isr.committed)} in-sync replicas, "
            f"min.insync.replicas is {log.config.min_insync_replicas}"
        )

    def _appended(self, leader: Leader, log: Log, info: AppendInfo, size: int) -> None:
        if must_flush(log):
            self._hidden_size += size
            self._environment.flusher.request(log, self._on_flushed)
        else:
            if info.rolled:
                self._environment.flusher.request_due(log)
            leader.durable_end = end = log.log_end_offset
            if leader.followers or self._hidden_size:
                self._hidden_size += size
                self._advance_high_watermark(leader, log)
            else:
                self._move_high_watermark(leader, log, end)
                if self.watchers:
                    notify(self.watchers, size, self.topic_partition)
                if self.stable_watchers:
                    self.notify_stable_watchers(log, info.base_offset, size)
            if self._waiting_for_leader:
                self._waiting_for_leader.reach(end)
        if self.replica_watchers:
            notify(self.replica_watchers, size, self.topic_partition)

    def _append_late(self, log: Log, job: Job[AppendInfo], size: int, acks: int) -> LateAppend:
        """The log's directory does not respond: append later, and respond then."""
        late = LateAppend()

        def on_done() -> None:
            try:
                info = job.result()
            except Exception as error:  # noqa: BLE001  the waiting requests fail with it
                late.fail(error if isinstance(error, KafkaError) else UnknownServerError(str(error)))
            else:
                late.complete(info)
                role = self.role
                if not info.duplicate and isinstance(role, Leader):
                    self._appended(role, log, info, size)
            for acknowledged in late.waiting:
                if late.error is not None:
                    acknowledged.fail(late.error)
                elif not self.must_wait(late, acks):
                    acknowledged.complete(None)
                else:
                    self.when_acknowledged(late, acks).when_done(acknowledged.settle_as)

        job.when_done(on_done)
        return late

    def must_wait(self, info: AppendInfo, acks: int) -> bool:
        """True while the append may not be acknowledged."""
        role, log = self.role, self._log
        if not isinstance(role, Leader) or log is None:
            return True
        frontier = log.high_watermark if acks == ALL else role.durable_end
        return frontier <= info.last_offset

    def when_acknowledged(self, info: AppendInfo, acks: int) -> Deferred[None]:
        """Done once `info` is below the frontier that `acks` requires. For appends that `must_wait`."""
        if isinstance(info, LateAppend) and not info.is_done:
            acknowledged: Deferred[None] = Deferred()
            info.waiting.append(acknowledged)
            return acknowledged
        if not isinstance(self.role, Leader):
            return Deferred.failed(self._not_leader())
        waiting = self._waiting_for_all if acks == ALL else self._waiting_for_leader
        return waiting.add(info.last_offset)

    def when_committed(self, end_offset: int) -> Deferred[None]:
        """Done once the high watermark has reached `end_offset`, in this leadership."""
        if not isinstance(self.role, Leader):
            return Deferred.failed(self._not_leader())
        if self.log.high_watermark >= end_offset:
            return Deferred.of(None)
        return self._waiting_for_all.add(end_offset - 1)

    # --- deleting records -----------------------------------------------------------------------------

    @property
    def low_watermark(self) -> int:
        """The lowest log start offset of the live replicas: what was deleted on all of them."""
        role, lowest = self.role, self.log.log_start_offset
        if isinstance(role, Leader):
            for broker_id, follower in role.followers.items():
                if follower.log_start_offset < lowest and self._environment.epoch_of(broker_id) >= 0:
                    lowest = follower.log_start_offset
        return lowest

    def when_deleted(self, offset: int) -> Deferred[None]:
        """Done once every live replica has deleted the records before `offset`, in this leadership."""
        if not isinstance(self.role, Leader):
            return Deferred.failed(self._not_leader())
        if self.low_watermark >= offset:
            return Deferred.of(None)
        return self._waiting_for_deletion.add(offset - 1)

    def _check_deletions(self) -> None:
        if self._waiting_for_deletion:
            self._waiting_for_deletion.reach(self.low_watermark)

    # --- the frontiers --------------------------------------------------------------------------------

    def _on_flushed(self, error: KafkaError | None) -> None:
        if error is not None:
            self._fail_waiting(error)
            return
        role, log = self.role, self._log
        if isinstance(role, Leader) and log is not None:
            self._advance_durable_end(role, log)

    def _advance_durable_end(self, leader: Leader, log: Log) -> None:
        end = max(log.recovery_point, leader.durable_end) if must_flush(log) else log.log_end_offset
        leader.durable_end = end
        self._advance_high_watermark(leader, log)
        if self._waiting_for_leader:
            self._waiting_for_leader.reach(end)

    def on_follower_fetch(self, replica_id: int, offset: int, log_start_offset: int, epoch: int) -> None:
        """A follower has read successfully: it has everything below `offset`.

        A fetch of an earlier registration of that broker says nothing: it may have lost records since.
        """
        role, log = self.role, self.log
        follower = role.followers.get(replica_id) if isinstance(role, Leader) else None
        if follower is None or not isinstance(role, Leader):
            return
        if epoch < max(follower.broker_epoch, self._environment.epoch_of(replica_id)):
            raise NotLeaderOrFollower(f"broker {replica_id} has registered again since epoch {epoch}")
        follower.on_fetch(offset, log_start_offset, log.log_end_offset, self._now_ms(), epoch)
        if replica_id not in role.isr.committed:
            self._consider_member(role, log, replica_id)
        self._advance_high_watermark(role, log)
        self._check_deletions()

    def _consider_member(self, leader: Leader, log: Log, replica_id: int) -> None:
        """Propose a follower for the in-sync set once it has all that a member must have."""
        follower = leader.followers[replica_id]
        if (
            not leader.isr.is_pending
            and in_sync.may_join(follower, log.high_watermark, leader.epoch_start_offset)
            and self._environment.is_eligible(replica_id, follower.broker_epoch)
        ):
            self._propose(leader, (*leader.isr.committed, replica_id))

    def check_isr(self) -> None:
        """Propose to remove the members that did not catch up within `replica.lag.time.max.ms`."""
        role, log = self.role, self._log
        if not isinstance(role, Leader) or not role.followers or log is None or log.is_closed:
            return
        max_lag_ms = self._environment.replica_lag_time_max_ms
        lagging = in_sync.lagging(role.followers, role.isr, log.log_end_offset, self._now_ms(), max_lag_ms)
        if lagging:
            self._propose(role, in_sync.without(role.isr, lagging))

    def _propose(self, leader: Leader, isr: tuple[int, ...]) -> None:
        leader.isr = InSyncReplicas(leader.isr.committed, isr)
        epochs = {each: follower.broker_epoch for each, follower in leader.followers.items()}
        members = tuple((each, epochs.get(each, in_sync.UNKNOWN_EPOCH)) for each in isr)
        proposal = IsrProposal(
            self.topic_id, self.topic_partition.partition, leader.epoch, self._state_version, members
        )
        self._environment.propose(self, proposal)

    def on_isr_answer(self, result: IsrResult) -> None:
        """The controller has answered to a proposal of this leader epoch, or of an older one."""
        role, image = self.role, self._image
        proposal, state = result.proposal, result.state
        if not isinstance(role, Leader) or image is None or proposal.leader_epoch != role.epoch:
            return
        if state is not None:
            self.follow(state._replace(replicas=image.replicas, adding=image.adding, removing=image.removing))
        elif result.error in REFUSED and proposal.partition_epoch == self._state_version:
            role.isr = InSyncReplicas(role.isr.committed)

    def _advance_high_watermark(self, leader: Leader, log: Log) -> None:
        environment = self._environment
        before = log.high_watermark
        offset = leader.high_watermark(
            log.config.min_insync_replicas,
            self._now_ms(),
            environment.replica_lag_time_max_ms,
            environment.is_eligible,
        )
        if offset <= before or not self._move_high_watermark(leader, log, offset):
            return
        # If only a part became readable, only reading shows how much.
        added = self._hidden_size if log.high_watermark == log.log_end_offset else 0
        if added:
            self._hidden_size = 0
        notify(self.watchers, added, self.topic_partition)
        if self.stable_watchers:
            self.notify_stable_watchers(log, before, added)

    def _move_high_watermark(self, leader: Leader, log: Log, offset: int) -> bool:
        if not log.maybe_update_high_watermark(offset):
            return False
        if self._waiting_for_all:
            # The in-sync set may have shrunk since the append.
            is_under = leader.is_under_min_isr(log.config.min_insync_replicas)
            error = NotEnoughReplicasAfterAppend(self._too_few(leader, log)) if is_under else None
            self._waiting_for_all.reach(offset, error)
        return True

    def _now_ms(self) -> int:
        return int(self._environment.clock.monotonic() * 1000)

    def _fail_waiting(self, error: KafkaError) -> None:
        self._waiting_for_leader.fail(error)
        self._waiting_for_all.fail(error)
        self._waiting_for_deletion.fail(error)
        for watchers in (self.watchers, self.stable_watchers, self.replica_watchers):
            notify(watchers, 0, self.topic_partition)

    def close(self) -> None:
        """The topic is deleted: requests that still hold this partition get no log from it."""
        reason = f"{self.topic_partition} is no longer on this broker"
        self.role = Offline(reason)
        self._log = None
        self._is_closed = True
        self._fail_waiting(NotLeaderOrFollower(reason))
        self._environment.on_role(self.topic_partition)
