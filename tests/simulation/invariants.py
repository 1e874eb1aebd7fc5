"""What must hold at every moment, checked on views of the partitions.

- `two-leaders`: two brokers led a partition in one leader epoch. - `high-watermark-fell`: on a leader, within
its epoch. - `leader-end-fell`: the log end offset of a leader, within its epoch. - `replicas-differ`: two
replicas have different bytes below both their high watermarks. - `isr-lacks-records`: a replica in the ISR
ends below the high watermark of its leader. - `no-electable-replica`: an acknowledged record (acks=all) is on
no replica that could be elected. - `state-went-back`: the leader epoch or the version of a partition's state
went back, on a broker or in the store.

A view is plain data: `observation` takes it from brokers, tests write it by hand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tests.simulation.history import ALL, Outcome, Write
from tests.simulation.violation import Violation

from barnabas.base.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch of a replica, with its first and last offset. `data` is what must be equal on all replicas."""

    base_offset: int
    last_offset: int
    data: bytes
    values: tuple[tuple[int, bytes], ...] = ()
    """Offset and value of each record."""


@dataclass(frozen=True, slots=True)
class ReplicaView:
    broker_id: int
    leader_epoch: int
    high_watermark: int
    log_end_offset: int
    is_leader: bool = False
    """Whether the broker takes itself for the leader in this epoch."""
    is_running: bool = True
    is_intact: bool = True
    """False after a loss of power, until the replica has caught up: then it may lack records."""
    log_start_offset: int = 0
    batches: Sequence[StoredBatch] = ()
    state_version: int = -1

    def below(self, end: int, start: int) -> list[tuple[int, bytes]]:
        return [
            (each.base_offset, each.data)
            for each in self.batches
            if each.base_offset >= start and each.last_offset < end
        ]


@dataclass(frozen=True, slots=True)
class PartitionView:
    partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    """As committed in the metadata store."""
    replicas: tuple[ReplicaView, ...]
    """Of all brokers that have one, running or not."""
    electable_outside_isr: tuple[int, ...] = ()
    """The eligible leader replicas (KIP-966)."""
    state_version: int = -1

    def replica(self, broker_id: int) -> ReplicaView | None:
        return next((each for each in self.replicas if each.broker_id == broker_id), None)


@dataclass(slots=True)
class Invariants:
    """Remembers what earlier views have shown."""

    _leaders: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)
    _frontiers: dict[tuple[TopicPartition, int, int], tuple[int, int]] = field(default_factory=dict)
    """High watermark and log end offset of a leader, by partition, broker and epoch."""
    _states: dict[tuple[TopicPartition, int], tuple[int, int]] = field(default_factory=dict)
    """Leader epoch and state version, by partition and broker; -1 is the store."""

    def check(self, view: PartitionView, acknowledged: Iterable[Write] = ()) -> Iterator[Violation]:
        yield from self._one_leader(view)
        yield from self._frontiers_grow(view)
        yield from self._states_grow(view)
        yield from _equal_prefixes(view)
        yield from _complete_isr(view)
        yield from _electable(view, acknowledged)

    def _one_leader(self, view: PartitionView) -> Iterator[Violation]:
        for replica in view.replicas:
            if replica.is_leader and replica.is_running:
                key = (view.partition, replica.leader_epoch)
                known = self._leaders.setdefault(key, replica.broker_id)
                if known != replica.broker_id:
                    details = f"brokers {known} and {replica.broker_id} both lead {view.partition}"
                    yield Violation("two-leaders", f"{details} in epoch {replica.leader_epoch}")

    def _frontiers_grow(self, view: PartitionView) -> Iterator[Violation]:
        for replica in view.replicas:
            if not (replica.is_leader and replica.is_running):
                continue
            key = (view.partition, replica.broker_id, replica.leader_epoch)
            high_watermark, end = self._frontiers.get(key, (-1, -1))
            where = f"on leader {replica.broker_id} of {view.partition} in epoch {replica.leader_epoch}"
            if replica.high_watermark < high_watermark:
                details = f"from {high_watermark} to {replica.high_watermark} {where}"
                yield Violation("high-watermark-fell", details)
            if replica.log_end_offset < end:
                yield Violation("leader-end-fell", f"from {end} to {replica.log_end_offset} {where}")
            self._frontiers[key] = (replica.high_watermark, replica.log_end_offset)

    def _states_grow(self, view: PartitionView) -> Iterator[Violation]:
        states = {-1: (view.leader_epoch, view.state_version)} | {
            each.broker_id: (each.leader_epoch, each.state_version)
            for each in view.replicas
            if each.is_running
        }
        for broker_id, state in states.items():
            key = (view.partition, broker_id)
            known = self._states.get(key, (-1, -1))
            if state[0] < known[0] or state[1] < known[1]:
                where = "the store" if broker_id < 0 else f"broker {broker_id}"
                details = f"{view.partition} in {where}: epoch and version from {known} to {state}"
                yield Violation("state-went-back", details)
            self._states[key] = state

    def forget_broker(self, broker_id: int) -> None:
        """The broker has ended: the next one on its files begins anew."""
        self._states = {key: state for key, state in self._states.items() if key[1] != broker_id}


def _equal_prefixes(view: PartitionView) -> Iterator[Violation]:
    """Byte for byte, below the high watermarks of both, from the later log start on."""
    comparable = [each for each in view.replicas if each.is_intact and each.batches]
    for one, other in combinations(comparable, 2):
        end = min(one.high_watermark, other.high_watermark)
        start = max(one.log_start_offset, other.log_start_offset)
        if one.below(end, start) != other.below(end, start):
            offset = _first_difference(one.below(end, start), other.below(end, start))
            details = f"brokers {one.broker_id} and {other.broker_id} in {view.partition} below offset {end}"
            yield Violation("replicas-differ", f"{details}, from offset {offset} on")


def _first_difference(one: Sequence[tuple[int, bytes]], other: Sequence[tuple[int, bytes]]) -> int:
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            return min(mine[0], its[0])
    longer = max(one, other, key=len)
    return longer[min(len(one), len(other))][0]


def _complete_isr(view: PartitionView) -> Iterator[Violation]:
    leader = view.replica(view.leader)
    if leader is None or not leader.is_leader or leader.leader_epoch != view.leader_epoch:
        return
    for broker_id in view.isr:
        replica = view.replica(broker_id)
        if replica is None or not replica.is_intact:
            continue
        if replica.log_end_offset < leader.high_watermark:
            details = f"broker {broker_id} in the ISR of {view.partition} ends at {replica.log_end_offset}"
            yield Violation("isr-lacks-records", f"{details}, the high watermark is {leader.high_watermark}")


def _electable(view: PartitionView, acknowledged: Iterable[Write]) -> Iterator[Violation]:
    """A record may be missing on every replica that can be elected only if all of them have lost power."""
    candidates = [view.replica(broker_id) for broker_id in (*view.isr, *view.electable_outside_isr)]
    intact = [each for each in candidates if each is not None and each.is_intact]
    if not intact:
        return
    stored: list[Mapping[int, bytes]] = [
        {offset: value for batch in each.batches for offset, value in batch.values} for each in intact
    ]
    start = max(each.log_start_offset for each in intact)
    for write in acknowledged:
        if write.acks != ALL or write.outcome is not Outcome.DONE or write.partition != view.partition:
            continue
        for offset, value in enumerate(write.values, write.offset):
            if offset >= start and not any(each.get(offset) == value for each in stored):
                names = ", ".join(str(each.broker_id) for each in intact)
                details = f"{value!r}, acknowledged at {offset} of {view.partition}, is on none of {names}"
                yield Violation("no-electable-replica", details, write.ended)
