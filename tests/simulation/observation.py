"""Views of the partitions of a running simulation, as `invariants` wants them.

What the metadata store says is read from its tree, records from the files of each machine, running or not,
and roles and high watermarks from the brokers that run. Nothing is opened or changed by looking at it.
"""

from collections.abc import Sequence
from contextlib import suppress
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


class Observation:
    def __init__(self, store: SimulatedStore, machines: Sequence[Machine]) -> None:
        self._store: SimulatedStore = store
        self._machines: Sequence[Machine] = machines
        self._parsed: dict[tuple[int, TopicPartition], tuple[bytes, list[StoredBatch]]] = {}
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

    # --- one replica ------------------------------------------------------------------------------------

    def _replica(self, machine: Machine, partition: TopicPartition, leader: int) -> ReplicaView | None:
        batches = self._batches(machine, partition)
        if batches is None:
            return None
        end = batches[-1].last_offset + 1 if batches else 0
        start = batches[0].base_offset if batches else 0
        is_intact = self._is_intact(machine, partition, leader)
        hosted = _hosted(machine, partition)
        if hosted is None:
            return ReplicaView(
                *(machine.number, _UNKNOWN, _UNKNOWN, end),
                is_running=False,
                is_intact=is_intact,
                log_start_offset=start,
                batches=batches,
            )
        found, log = hosted
        return ReplicaView(
            machine.number,
            found.leader_epoch,
            log.high_watermark,
            log.log_end_offset,
            is_leader=isinstance(found.role, Leader),
            is_intact=is_intact,
            log_start_offset=log.log_start_offset,
            batches=batches,
        )

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

    def _batches(self, machine: Machine, partition: TopicPartition) -> list[StoredBatch] | None:
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
        data = _log_bytes(machine, directory)
        key = (machine.number, partition)
        known, batches = self._parsed.get(key, (b"", []))
        if known != data:
            if not data.startswith(known):
                known, batches = b"", []
            parsed = sum(len(each.data) for each in batches)
            batches = [*batches, *_parse(data[parsed:])]
            self._parsed[key] = data, batches
        return batches


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
