"""What the tests of the log share: batches, a log in memory, and its content read back."""

from pathlib import Path

from tests.fakes.faulty_filesystem import FaultyFileSystem

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.records.batch import BatchHeader, iter_headers
from barnabas.records.builder import build_batch
from barnabas.records.control import build_end_marker
from barnabas.records.record import Record, decode_records
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.log import Log
from barnabas.storage.log_loader import create_log, open_log
from barnabas.storage.producer_state import CompletedTxn, ProducerStates, read_marker

NOW = 1_600_000_000_000
ROOT = Path("/data")
TP = TopicPartition("topic", 0)
GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3"


def batch(
    count: int = 1,
    *,
    size: int = 10,
    timestamp: int = NOW,
    pid: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """`count` records of `size` bytes, one millisecond apart."""
    return build_batch(
        [Record(i, timestamp + i, None, b"v" * size) for i in range(count)],
        producer_id=pid,
        producer_epoch=epoch if pid < 0 else max(epoch, 0),
        base_sequence=sequence,
        transactional=transactional,
    )


def marker(pid: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> bytes:
    return build_end_marker(pid, epoch, commit, coordinator_epoch, NOW)


class MemoryLogs:
    """A file system, a clock, and logs on them that can be closed, killed and opened again."""

    def __init__(self, config: LogConfig | None = None, fs: FileSystem | None = None) -> None:
        self.fs: FaultyFileSystem = FaultyFileSystem()
        self.clock: ManualClock = ManualClock(NOW)
        self.config: LogConfig = config or LogConfig()
        self.failures: list[OSError] = []
        self.environment: LogEnvironment = LogEnvironment(
            fs or self.fs, self.clock, on_failure=self.failures.append
        )
        self.fs.makedirs(ROOT)

    def create(self, key: TopicPartition = TP) -> Log:
        return create_log(ROOT / str(key), key, None, self.config, self.environment)

    def open(self, *, clean: bool, recovery_point: int = 0, log_start_offset: int = 0) -> Log:
        return open_log(
            ROOT / str(TP),
            self.config,
            self.environment,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
        )

    def names(self) -> list[str]:
        return sorted(self.fs.listdir(ROOT / str(TP)))

    def path(self, name: str) -> Path:
        return ROOT / str(TP) / name


def read_batches(log: Log) -> list[tuple[BatchHeader, bytes]]:
    """Every batch of the log, read the way a consumer does."""
    found = []
    offset = log.log_start_offset
    while (part := log.read(offset, 1 << 20, up_to=log.log_end_offset)) is not None:
        data = part.read()
        for position, header in iter_headers(data):
            found.append((header, data[position : position + header.size]))
            offset = header.next_offset
    return found


def read_records(log: Log) -> list[Record]:
    return [record for _, data in read_batches(log) for record in decode_records(data)]


def replay(log: Log) -> tuple[ProducerStates, list[CompletedTxn]]:
    """The producers and ended transactions as derived from the batches alone."""
    states, ended = ProducerStates(), []
    for header, data in read_batches(log):
        if header.has_producer_id:
            txn = states.apply(header, header.base_offset, read_marker(data) if header.is_control else None)
            if txn is not None:
                ended.append(txn)
                states.complete(txn)
    return states, ended


def summary(states: ProducerStates) -> dict[int, tuple[int, int, int, int, int]]:
    """What has to be equal, however the state was reached."""
    return {
        entry.producer_id: (
            entry.epoch,
            entry.coordinator_epoch,
            entry.txn_first_offset,
            entry.last_sequence,
            entry.last_offset,
        )
        for entry in states.entries.values()
    }


def assert_consistent(log: Log) -> None:
    """Offsets without gaps, indexes that lead to batches, state that equals a replay."""
    batches = read_batches(log)
    expected = log.log_start_offset
    for header, _ in batches:
        assert header.base_offset == expected or header.base_offset < log.log_start_offset == expected
        expected = header.next_offset
        assert log.leader_epochs.epoch_for_offset(header.base_offset) == header.partition_leader_epoch
    assert expected == log.log_end_offset
    starts = {}
    for segment in log.segments:
        position = 0
        for header, data in batches:
            if header.base_offset >= segment.base_offset and position < segment.size:
                starts[segment.base_offset, header.last_offset] = position
                position += len(data)
        batches = [item for item in batches if (segment.base_offset, item[0].last_offset) not in starts]
        for relative, at in zip(segment.index.offsets, segment.index.positions, strict=True):
            assert starts[segment.base_offset, segment.base_offset + relative] == at
        assert list(segment.time_index.timestamps) == sorted(set(segment.time_index.timestamps))
    states, ended = replay(log)
    assert summary(log.producers) == summary(states)
    aborted = [(txn.producer_id, txn.first_offset, txn.last_offset) for txn in ended if txn.is_abort]
    indexed = [entry for segment in log.segments for entry in segment.txn_index.entries]
    assert [(entry.producer_id, entry.first_offset, entry.last_offset) for entry in indexed] == aborted
