"""Flaws of replication that are planted in the real code, and the faults that bring each of them to light.

They are the mistakes that Apache Kafka and others have made (shared design, "planted bugs"). A flaw names the
violations by which it may be found: a run that merely does not end, or ends with another violation, has not
found it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from tests.simulation.faults import CLIENTS, CONTROLLER, FOLLOWER, LEADER, OUTSIDER, SECOND_FOLLOWER, Fault
from tests.simulation.plans import PLANS, Plan

from barnabas.broker.replication import Replication
from barnabas.controller import isr_changes
from barnabas.controller.controller import Controller
from barnabas.controller.partition_change import PartitionChange
from barnabas.handlers.fetch import Fetch
from barnabas.metadata.isr_proposal import IsrResult
from barnabas.metadata.membership import LogHistory
from barnabas.replication import isr
from barnabas.replication.isr import FollowerState, InSyncReplicas
from barnabas.replication.isr_proposals import REFUSED
from barnabas.replication.partition import Partition
from barnabas.replication.replica_fetcher import ReplicaFetcher
from barnabas.replication.roles import Leader
from barnabas.runtime.hosted_shard import HostedShard, ShardState
from barnabas.storage import log as log_module

Patch = tuple[Any, str, Any]


@dataclass(frozen=True, slots=True)
class Flaw:
    name: str
    patches: Sequence[Patch]
    plan: Callable[[int], Plan]
    violations: frozenset[str]
    seeds: int = 12
    """So many seeds find it for certain."""

    @contextmanager
    def planted(self) -> Iterator[None]:
        patches = [mock.patch.object(*each) for each in self.patches]
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()


def _directed(*faults: Fault, seconds: float, **more: Any) -> Callable[[int], Plan]:
    """The same faults with every seed: what differs is when exactly things happen."""
    settings: Mapping[str, Any] = {"min_insync_replicas": 2, "max_lag_ms": 500, "groups": 0, **more}

    def make(seed: int) -> Plan:
        drawn = tuple(replace(each, seed=seed) if each.kind == "cut_power" else each for each in faults)
        return Plan(seed, drawn, 4, 1, seconds, transactions=False, has_roles=True, **settings)

    return make


# --- the high watermark -----------------------------------------------------------------------------------


def _log_end(leader_end: int, *_: object) -> int:
    return leader_end


def _only_committed(
    leader_end: int, followers: Mapping[int, FollowerState], in_sync: InSyncReplicas, *_: object
) -> int:
    counted = [followers[each].log_end_offset for each in in_sync.committed if each in followers]
    return min([leader_end, *counted])


# --- truncation -------------------------------------------------------------------------------------------

_follow_leader = Partition._follow_leader


def _truncate_to_high_watermark(self: Partition, leader_id: int, epoch: int) -> None:
    before = self.role
    _follow_leader(self, leader_id, epoch)
    if self.role is not before and leader_id >= 0:
        log = self.log
        log.truncate_to(log.high_watermark)


def _truncate_in_one_step(self: Partition, leader_epoch: int, leader_end: int) -> None:
    log = self.log
    log.truncate_to(min(leader_end, log.log_end_offset))
    while log.leader_epochs.latest_epoch > leader_epoch:
        log.leader_epochs.entries.pop()
        log.leader_epochs._changed()


_read_partition = Fetch._read_partition
_apply_partition = ReplicaFetcher._apply_partition


def _send_high_watermark(self: Fetch, key: Any, wanted: Any, left: int) -> Any:
    result = _read_partition(self, key, wanted, left)
    if result.diverging is not None:
        result = result._replace(high_watermark=self._find(key).log.high_watermark)
    return result


def _take_high_watermark_first(self: ReplicaFetcher, each: Any, fetched: Any) -> None:
    if not fetched.error_code and fetched.diverging is not None:
        each.partition.log.maybe_update_high_watermark(
            min(fetched.high_watermark, each.partition.log.log_end_offset)
        )
    _apply_partition(self, each, fetched)


# --- the in-sync set --------------------------------------------------------------------------------------

_propose = Partition._propose
_on_isr_answer = Partition.on_isr_answer


def _shrink_at_once(self: Partition, leader: Leader, members: tuple[int, ...]) -> None:
    is_shrink = set(members) < set(leader.isr.committed)
    _propose(self, leader, members)
    if is_shrink:
        leader.isr = InSyncReplicas(members)


def _refused_is_done(self: Partition, result: IsrResult) -> None:
    _on_isr_answer(self, result)
    if isinstance(self.role, Leader) and result.error in REFUSED:
        self.role.isr = InSyncReplicas(tuple(each for each, _ in result.proposal.isr))


def _any_epoch(image: Any, brokers: Any, broker_id: int, broker_epoch: int) -> bool:
    known = image.registrations.get(broker_id)
    return known is not None and known.is_active and not known.broker.is_shutting_down


def _is_active(self: Replication, broker_id: int, _: int) -> bool:
    known = self._cluster.image.registrations.get(broker_id)
    return known is not None and known.is_active


def _join_by_high_watermark(follower: FollowerState, watermark: int, _: int) -> bool:
    return follower.log_end_offset >= watermark


# --- the controller ---------------------------------------------------------------------------------------


def _write_without_check(self: Controller, operations: Sequence[Any]) -> Any:
    self._term()
    return self._cluster.transaction(operations)


def _complete_with_any(self: PartitionChange) -> None:
    removing = set(self.removing)
    members = tuple(each for each in self.isr if each not in removing)
    if self.adding and members and set(self.adding) & set(members):
        self.replicas = tuple(each for each in self.replicas if each not in removing)
        self.isr, self.adding, self.removing = members, (), ()


def _answer_while_loading(self: HostedShard[Any]) -> None:
    if self.state is ShardState.LOADING:
        return
    _check_active(self)


_check_active = HostedShard.check_active


# --- all of them ------------------------------------------------------------------------------------------

_LACKS = frozenset({"isr-lacks-records", "elr-lacks-records", "no-electable-replica", "lost-record"})


def _cut(at: float, one: int, other: int, seconds: float, direction: str = "both") -> Fault:
    return Fault("isolate", at, one, other, direction, seconds)


def _apart(at: float, seconds: float) -> tuple[Fault, ...]:
    """The leader does not reach its followers, nor they it."""
    return _cut(at, LEADER, FOLLOWER, seconds), _cut(at, LEADER, SECOND_FOLLOWER, seconds)


FLAWS: Sequence[Flaw] = (
    Flaw(
        "high watermark is the log end",
        [(isr, "high_watermark", _log_end)],
        PLANS["three_brokers"],
        _LACKS | {"replicas-differ", "truncated-below-high-watermark"},
    ),
    Flaw(
        "followers truncate to the high watermark",
        [(Partition, "_follow_leader", _truncate_to_high_watermark)],
        _directed(
            _cut(1.0, FOLLOWER, SECOND_FOLLOWER, 1.0),
            Fault("elect", 1.1, FOLLOWER),
            _cut(2.5, LEADER, SECOND_FOLLOWER, 1.0),
            Fault("elect", 2.6, LEADER),
            seconds=4.0,
        ),
        _LACKS,
    ),
    Flaw(
        "truncation without its second step (KIP-279)",
        [(Partition, "truncate_to_divergence", _truncate_in_one_step)],
        _directed(
            *_apart(1.0, 1.3),
            _cut(1.0, FOLLOWER, SECOND_FOLLOWER, 1.3),
            Fault("elect", 1.3, FOLLOWER),
            Fault("elect", 1.9, LEADER),
            seconds=4.0,
            max_lag_ms=3000,
        ),
        frozenset({"replicas-differ", "isr-lacks-records"}),
    ),
    Flaw(
        "high watermark is taken before the truncation (KAFKA-14704)",
        [
            (Fetch, "_read_partition", _send_high_watermark),
            (ReplicaFetcher, "_apply_partition", _take_high_watermark_first),
        ],
        _directed(*_apart(1.0, 1.5), Fault("elect", 1.3, FOLLOWER), seconds=4.0),
        frozenset({"truncated-below-high-watermark"}),
    ),
    Flaw(
        "producers are not rebuilt after a truncation",
        [(log_module, "rebuild_producers", lambda *_, **__: None)],
        _directed(
            *_apart(1.0, 0.7),
            _cut(1.35, FOLLOWER, CLIENTS, 3.0),
            Fault("elect", 1.4, FOLLOWER),
            Fault("elect", 2.6, LEADER),
            seconds=5.0,
        ),
        _LACKS | {"replaced-record", "duplicate-record"},
    ),
    Flaw(
        "refused shrink is taken as done",
        [(Partition, "on_isr_answer", _refused_is_done)],
        _directed(
            _cut(1.0, SECOND_FOLLOWER, LEADER, 5.0),
            _cut(1.3, FOLLOWER, LEADER, 0.4),
            Fault("late_changes", 1.31, CONTROLLER, seconds=0.1),
            Fault("expire_session", 1.32, FOLLOWER),
            seconds=4.0,
        ),
        _LACKS,
        30,
    ),
    Flaw(
        "shrink counts before its commit",
        [(Partition, "_propose", _shrink_at_once)],
        _directed(
            _cut(0.8, SECOND_FOLLOWER, LEADER, 4.0),
            Fault("isolate_from_store", 0.9, CONTROLLER, seconds=2.5),
            seconds=3.0,
        ),
        _LACKS,
    ),
    Flaw(
        "expand is ignored until its commit",
        [(isr, "high_watermark", _only_committed)],
        _directed(
            _cut(0.5, FOLLOWER, LEADER, 1.6),
            _cut(2.0, CONTROLLER, LEADER, 1.5, "out"),
            Fault("isolate_from_store", 2.0, LEADER, seconds=1.5),
            _cut(2.5, FOLLOWER, LEADER, 1.5),
            seconds=4.0,
        ),
        _LACKS,
    ),
    Flaw(
        "broker epochs are not checked (KIP-903)",
        [
            (isr_changes, "_is_eligible", _any_epoch),
            (Replication, "is_eligible", _is_active),
        ],
        _directed(
            _cut(0.5, FOLLOWER, LEADER, 1.6),
            _cut(2.05, LEADER, CONTROLLER, 2.0, "out"),
            Fault("cut_power", 2.4, FOLLOWER, seconds=0.2),
            Fault("expire_session", 2.45, FOLLOWER),
            _cut(2.45, FOLLOWER, LEADER, 2.0),
            seconds=5.0,
        ),
        _LACKS,
    ),
    Flaw(
        "replicas join by the high watermark alone (KAFKA-7128)",
        [(isr, "may_join", _join_by_high_watermark)],
        _directed(
            Fault("isolate_from_store", 1.0, SECOND_FOLLOWER, seconds=0.3),
            Fault("expire_session", 1.01, SECOND_FOLLOWER),
            _cut(1.25, LEADER, SECOND_FOLLOWER, 1.0),
            Fault("kill", 1.38, LEADER, seconds=2.0),
            Fault("expire_session", 1.39, LEADER),
            seconds=2.5,
            controller_follows=True,
        ),
        _LACKS,
        30,
    ),
    Flaw(
        "broker that lost power stays in the ELR (KIP-966)",
        [(LogHistory, "is_unclean_after", lambda *_: False)],
        _directed(
            Fault("kill", 0.8, SECOND_FOLLOWER, seconds=5.0),
            Fault("expire_session", 0.85, SECOND_FOLLOWER),
            Fault("cut_power", 1.8, FOLLOWER, seconds=0.3),
            Fault("expire_session", 1.85, FOLLOWER),
            _cut(1.85, FOLLOWER, LEADER, 1.5),
            seconds=4.0,
        ),
        _LACKS,
    ),
    Flaw(
        "controller writes without a check of its epoch",
        [(Controller, "transaction", _write_without_check)],
        _directed(
            _cut(0.9, SECOND_FOLLOWER, LEADER, 3.0),
            Fault("late_changes", 0.9, CONTROLLER, seconds=2.0),
            Fault("late_changes", 0.9, LEADER, seconds=2.0),
            Fault("move_controller", 1.0),
            seconds=3.0,
        ),
        frozenset({"deposed-controller-wrote"}),
    ),
    Flaw(
        "coordinator answers while it loads",
        [(HostedShard, "check_active", _answer_while_loading)],
        PLANS["coordinators"],
        frozenset({"group-offset-went-back"}),
        20,
    ),
    Flaw(
        "reassignment ends with any of its targets (KAFKA-15665)",
        [(PartitionChange, "_complete_reassignment", _complete_with_any)],
        _directed(
            _cut(0.5, OUTSIDER, LEADER, 4.0),
            _cut(0.5, OUTSIDER, FOLLOWER, 4.0),
            Fault("reassign", 0.8),
            seconds=3.0,
            factor=2,
        ),
        frozenset({"reassignment-ended-early"}),
        20,
    ),
)
