"""What must hold at every moment, checked on views of the partitions.

| violation | what happened |
|---|---|
| `two-leaders` | two brokers led a partition in one leader epoch |
| `high-watermark-fell` | on a leader, within its epoch |
| `leader-end-fell` | the log end offset of a leader, within its epoch |
| `replicas-differ` | two replicas have different bytes below both their high watermarks |
| `isr-lacks-records` | one of the ISR ends below the leader's high watermark or lacks what was acknowledged |
| `elr-lacks-records` | an eligible leader replica (KIP-966) lacks an acknowledged record |
| `no-electable-replica` | an acknowledged record (acks=all) is on no replica that could be elected |
| `state-went-back` | the leader epoch or the version of a partition's state, on a broker or in the store |

A view is plain data: `observation` takes it from brokers, tests write it by hand.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    is_untouched: bool = False
    """No request has concerned it since it became leader."""
    is_running: bool = True
    is_intact: bool = True
    """False after a loss of power, until the replica has caught up."""
    may_lack_records: bool = False
    """After a loss of power, until the controller has activated the next registration of the broker: then the
    replica has left the ISR."""
    log_start_offset: int = 0
    batches: Sequence[StoredBatch] = ()
    state_version: int = -1
    generation: int = 0
    """Another one whenever the log has lost or changed records."""

    known_values: Mapping[int, bytes] | None = None

    def values(self) -> Mapping[int, bytes]:
        if self.known_values is not None:
            return self.known_values
        return {offset: value for batch in self.batches for offset, value in batch.values}

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

    may_lose_records: bool = False
    """A leader may be elected outside of the ISR: replicas differ until they have followed it."""
    _leaders: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)
    _frontiers: dict[tuple[TopicPartition, int, int], tuple[int, int]] = field(default_factory=dict)
    """High watermark and log end offset of a leader, by partition, broker and epoch."""
    _states: dict[tuple[TopicPartition, int], tuple[int, int]] = field(default_factory=dict)
    """Leader epoch and state version, by partition and broker; -1 is the store."""
    _complete: dict[tuple[TopicPartition, int], tuple[int, int]] = field(default_factory=dict)
    """Generation of a replica and how many acknowledged writes it is known to have."""
    _equal: dict[tuple[TopicPartition, int, int], object] = field(default_factory=dict)
    """What was compared last of two replicas, by partition and brokers."""

    def check(self, view: PartitionView, acknowledged: Sequence[Write] = ()) -> Iterator[Violation]:
        """`acknowledged` are those of the partition with acks=all; later calls may give more of them."""
        yield from self._one_leader(view)
        yield from self._frontiers_grow(view)
        yield from self._states_grow(view)
        if not self.may_lose_records:
            yield from self._equal_prefixes(view)
        yield from _complete_isr(view)
        yield from self._electable(view, acknowledged)

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

    def _equal_prefixes(self, view: PartitionView) -> Iterator[Violation]:
        """Byte for byte, below the high watermarks of both, from the later log start on."""
        comparable = [each for each in view.replicas if each.is_intact and each.batches]
        for one, other in combinations(comparable, 2):
            end = min(one.high_watermark, other.high_watermark)
            start = max(one.log_start_offset, other.log_start_offset)
            key, compared = (
                (view.partition, one.broker_id, other.broker_id),
                (start, end, one.generation, other.generation),
            )
            if self._equal.get(key) == compared and one.generation:
                continue
            mine, its = one.below(end, start), other.below(end, start)
            if mine != its:
                offset = _first_difference(mine, its)
                details = f"brokers {one.broker_id} and {other.broker_id} in {view.partition}"
                yield Violation("replicas-differ", f"{details} below offset {end}, from offset {offset} on")
            self._equal[key] = compared

    def _electable(self, view: PartitionView, acknowledged: Sequence[Write]) -> Iterator[Violation]:
        """Every replica that can be elected has every acknowledged record."""
        candidates = [view.replica(broker_id) for broker_id in (*view.isr, *view.electable_outside_isr)]
        sound = [each for each in candidates if each is not None and not each.may_lack_records]
        missing = {
            each.broker_id: lack
            for each in sound
            if (lack := self._first_missing(view.partition, each, acknowledged)) is not None
        }
        for broker_id, (write, offset) in missing.items():
            value = write.values[offset - write.offset]
            details = f"{value!r}, acknowledged at {offset} of {view.partition}, is not on broker {broker_id}"
            if len(missing) == len(sound):
                yield Violation("no-electable-replica", f"{details} nor another of the ISR", write.ended)
                return
            kind = "isr-lacks-records" if broker_id in view.isr else "elr-lacks-records"
            yield Violation(kind, details, write.ended)

    def _first_missing(
        self, partition: TopicPartition, replica: ReplicaView, acknowledged: Sequence[Write]
    ) -> tuple[Write, int] | None:
        key = (partition, replica.broker_id)
        generation, count = self._complete.get(key, (0, 0))
        if generation != replica.generation or not generation:
            count = 0
        if count == len(acknowledged):
            return None
        values = replica.values()
        for write in acknowledged[count:]:
            if write.partition != partition or write.acks != ALL or write.outcome is not Outcome.DONE:
                continue
            for offset, value in enumerate(write.values, write.offset):
                if write.offset >= 0 and offset >= replica.log_start_offset and values.get(offset) != value:
                    return write, offset
        self._complete[key] = replica.generation, len(acknowledged)
        return None


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
        if replica is None or replica.may_lack_records:
            continue
        if replica.log_end_offset < leader.high_watermark:
            details = f"broker {broker_id} in the ISR of {view.partition} ends at {replica.log_end_offset}"
            yield Violation("isr-lacks-records", f"{details}, the high watermark is {leader.high_watermark}")
