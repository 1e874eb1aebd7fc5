"""What the tests of compaction share: a log in memory with keyed records, cleaned as the broker would."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.unit.storage.support import NOW, MemoryLogs

from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.records.batch import BatchHeader, iter_headers
from barnabas.records.builder import build_batch
from barnabas.records.record import Record, decode_records
from barnabas.storage.cleaning.cleaner import Cleaner
from barnabas.storage.cleaning.job import CleanedSegment, CleaningStats
from barnabas.storage.cleaning.plan import CleanerResources, CleaningPlan, cleanable_range
from barnabas.storage.log import Log

CONFIG = LogConfig(
    segment_bytes=6000, index_interval_bytes=100, cleanup_compact=True, cleanup_delete=False,
    min_cleanable_dirty_ratio=0.0, delete_retention_ms=1000,
)  # fmt: skip
RESOURCES = CleanerResources(memory=1 << 20, io_bytes=1 << 16)

Row = tuple[str | None, str | None]


def rows(*pairs: Row, timestamp: int = NOW) -> list[Record]:
    return [
        Record(number, timestamp + number, _bytes(key), _bytes(value))
        for number, (key, value) in enumerate(pairs)
    ]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


@dataclass
class Compacted:
    """A log and the offset up to which it is clean."""

    config: LogConfig = CONFIG
    resources: CleanerResources = RESOURCES
    logs: MemoryLogs = field(init=False)
    log: Log = field(init=False)
    checkpoint: int | None = None

    def __post_init__(self) -> None:
        self.logs = MemoryLogs(self.config)
        self.log = self.logs.create()

    @property
    def fs(self) -> FileSystem:
        return self.logs.fs

    def append(self, records: Sequence[Record], *, leader_epoch: int = 0, **fields: object) -> None:
        """Through the follower's door: a leader would refuse records without keys, and markers."""
        data = build_batch(
            records,
            base_offset=self.log.log_end_offset,
            leader_epoch=leader_epoch,
            **fields,  # type: ignore[arg-type]
        )
        self.append_bytes(data)

    def append_bytes(self, data: bytes) -> None:
        self.log.append_as_follower(data)
        self.log.maybe_update_high_watermark(self.log.log_end_offset)

    def seal(self) -> None:
        self.log.roll()
        self.log.flush()

    def clean(self, on_swap: Callable[[CleanedSegment], None] | None = None) -> CleaningStats:
        now_ms = self.logs.clock.now_ms()
        found = cleanable_range(self.log, self.checkpoint, now_ms)
        assert found is not None
        plan = CleaningPlan.of(self.log, found, now_ms, self.resources)

        def swap(cleaned: CleanedSegment) -> None:
            if on_swap is not None:
                on_swap(cleaned)
            deleted = plan.swap(cleaned)
            self.fs.sync_dir(self.log.directory)
            deleted.run()

        stats = Cleaner(plan.job, self.fs, swap).clean()
        self.checkpoint = stats.end_offset
        return stats

    def clean_all(self) -> int:
        """Clean until nothing dirty is left but the active segment; returns the number of rounds."""
        rounds = 0
        while cleanable_range(self.log, self.checkpoint, self.logs.clock.now_ms()) is not None:
            rounds += self.clean().rounds
        return rounds

    def headers(self) -> list[BatchHeader]:
        return [header for header, _ in self.batches()]

    def batches(self) -> list[tuple[BatchHeader, bytes]]:
        """Every batch, read as a consumer does: from where the one before ended."""
        found, offset = [], self.log.log_start_offset
        while (part := self.log.read(offset, 1 << 20, up_to=self.log.log_end_offset)) is not None:
            data = part.read()
            for position, header in iter_headers(data):
                found.append((header, data[position : position + header.size]))
                assert header.next_offset > offset
                offset = header.next_offset
        return found

    def records(self) -> list[Record]:
        return [record for _, data in self.batches() for record in decode_records(data)]

    def values(self) -> list[tuple[int, str | None, str | None]]:
        return [(record.offset, _text(record.key), _text(record.value)) for record in self.records()]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
