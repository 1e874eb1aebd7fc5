"""Views of the partitions of a running simulation, as `invariants` wants them.

What the metadata store says is read from its tree, records from the files of each machine, running or not,
and roles and high watermarks from the brokers that run. Nothing is opened or changed by looking at it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.invariants import PartitionView, ReplicaView, StoredBatch
from tests.simulation.machine import Machine
from tests.simulation.store import SimulatedStore

from barnabas.base.errors import KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.metadata import nodes, paths
from barnabas.records.batch import crc_is_valid, iter_headers
from barnabas.records.record import decode_records
from barnabas.replication.partition import Partition
from barnabas.replication.roles import Leader
from barnabas.storage.log import Log

_UNKNOWN = -1


@dataclass(slots=True)
class ParsedLog:
    """The records of one replica, as far as its files were read."""

    generation: int = 1
    data: bytes = b""
    parsed: int = 0
    batches: list[StoredBatch] = field(default_factory=list)
    values: dict[int, bytes] = field(default_factory=dict)

    def read(self, data: bytes) -> None:
        if data == self.data:
            return
        if not data.startswith(self.data):
            self.generation += 1
            self.parsed = 0
            self.batches, self.values = [], {}
        for batch in _parse(data[self.parsed :]):
            self.batches.append(batch)
            self.values.update(batch.values)
            self.parsed += len(batch.data)
        self.data = data


class Observation:
    def __init__(self, store: SimulatedStore, machines: Sequence[Machine]) -> None:
        self._store: SimulatedStore = store
        self._machines: Sequence[Machine] = machines
        self._parsed: dict[tuple[int, TopicPartition], ParsedLog] = {}
        self._cuts: dict[tuple[int, TopicPartition], int] = {}
        """How many losses of power each replica has made up for: it may lack records meanwhile."""

    def view(self, partition: TopicPartition) -> PartitionView | None:
        """None if the partition has no state yet."""
        node = self._store.tree.nodes.get(paths.partition_state(partition.topic, partition.partition))
        if node is None:
            return None
        state = nodes.decode_state(node.data)
        replicas = [
            replica
            for machine in self._machines
            if (replica := self._replica(machine, partition, state.leader)) is not None
        ]
        return PartitionView(
            partition,
            state.leader,
            state.leader_epoch,
            state.isr,
            tuple(replicas),
            state.elr,
            node.version,
        )

    def isr_of(self, partition: TopicPartition) -> tuple[int, ...]:
        node = self._store.tree.nodes.get(paths.partition_state(partition.topic, partition.partition))
        return () if node is None else nodes.decode_state(node.data).isr

    def topics(self) -> dict[str, int]:
        """The number of partitions of each topic in the metadata store."""
        tree = self._store.tree
        return {
            name: len(nodes.decode_topic(tree.nodes[paths.topic(name)].data).assignment)
            for name in (path.rpartition("/")[2] for path in tree.children(paths.TOPICS))
        }

    def is_full(self, partition: TopicPartition) -> bool:
        """Whether every replica is in the ISR, and none is added or removed."""
        node = self._store.tree.nodes.get(paths.topic(partition.topic))
        if node is None:
            return False
        topic, number = nodes.decode_topic(node.data), partition.partition
        if topic.adding.get(number) or topic.removing.get(number):
            return False
        return set(self.isr_of(partition)) == set(topic.assignment[number])

    def logs_of(self, partition: TopicPartition) -> dict[int, list[StoredBatch]]:
        """The batches of every replica, by broker."""
        node = self._store.tree.nodes[paths.topic(partition.topic)]
        replicas = nodes.decode_topic(node.data).assignment[partition.partition]
        logs = {number: self._parsed_log(self._machines[number], partition) for number in replicas}
        return {number: [] if log is None else log.batches for number, log in logs.items()}

    # --- one replica ------------------------------------------------------------------------------------

    def _replica(self, machine: Machine, partition: TopicPartition, leader: int) -> ReplicaView | None:
        log = self._parsed_log(machine, partition)
        if log is None:
            return None
        batches = log.batches
        end = batches[-1].last_offset + 1 if batches else 0
        start = batches[0].base_offset if batches else 0
        is_intact = self._is_intact(machine, partition, leader)
        may_lack_records = not is_intact and not self._is_activated(machine)
        hosted = _hosted(machine, partition)
        if hosted is None:
            return ReplicaView(
                *(machine.number, _UNKNOWN, _UNKNOWN, end),
                is_running=False,
                is_intact=is_intact,
                may_lack_records=may_lack_records,
                log_start_offset=start,
                batches=batches,
                generation=log.generation,
                known_values=log.values,
            )
        found, own = hosted
        return ReplicaView(
            machine.number,
            found.leader_epoch,
            own.high_watermark,
            own.log_end_offset,
            is_leader=isinstance(found.role, Leader),
            is_untouched=isinstance(found.role, Leader) and not found.role.has_begun,
            is_intact=is_intact,
            may_lack_records=may_lack_records,
            log_start_offset=own.log_start_offset,
            batches=batches,
            generation=log.generation,
            known_values=log.values,
        )

    def _is_activated(self, machine: Machine) -> bool:
        """Whether the controller has activated a registration of the broker after its last loss of power."""
        tree = self._store.tree.nodes
        session = tree.get(paths.broker(machine.number))
        registration = tree.get(paths.registration(machine.number))
        if session is None or registration is None or session.created_in <= machine.power_cut_in:
            return False
        return nodes.decode_registration(registration.data).active_epoch == session.created_in

    def _is_intact(self, machine: Machine, partition: TopicPartition, leader: int) -> bool:
        """Whether a replica that lost power has caught up: it leads, or has what its leader has committed."""
        key = (machine.number, partition)
        if self._cuts.get(key, 0) == machine.power_cuts:
            return True
        mine = _hosted(machine, partition)
        its = next((_hosted(each, partition) for each in self._machines if each.number == leader), None)
        if mine is None or its is None or mine[1].log_end_offset < its[1].high_watermark:
            return False
        self._cuts[key] = machine.power_cuts
        return True

    def _parsed_log(self, machine: Machine, partition: TopicPartition) -> ParsedLog | None:
        directory = next(
            (
                each / str(partition)
                for each in machine.log_dirs
                if machine.disk.exists(each / str(partition))
            ),
            None,
        )
        if directory is None:
            return None
        log = self._parsed.setdefault((machine.number, partition), ParsedLog())
        log.read(_log_bytes(machine, directory))
        return log


def _hosted(machine: Machine, partition: TopicPartition) -> tuple[Partition, Log] | None:
    """The partition on a running broker, if its log is open."""
    if machine.broker is None or not machine.broker.is_serving:
        return None
    return machine.broker.replica(partition)


def _log_bytes(machine: Machine, directory: Path) -> bytes:
    disk = machine.disk
    names = sorted(name for name in disk.listdir(directory) if name.endswith(".log"))
    return b"".join(disk.content(directory / name) for name in names)


def _parse(data: bytes) -> list[StoredBatch]:
    """The batches up to the torn end of a log that was not recovered yet."""
    found: list[StoredBatch] = []
    with suppress(KafkaError):
        for position, header in iter_headers(data, allow_partial=True):
            batch = data[position : position + header.size]
            if not crc_is_valid(batch, 0, header):
                break
            records = () if header.is_control else decode_records(batch)
            values = tuple((record.offset, record.value or b"") for record in records)
            found.append(StoredBatch(header.base_offset, header.last_offset, batch, values))
    return found
