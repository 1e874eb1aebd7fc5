"""The reading side of a partition: reads, and the fetches that wait for records."""

from collections.abc import Iterator

from barnabas.base.ids import TopicPartition
from barnabas.replication.partition_environment import FetchIsolation, ReadResult
from barnabas.replication.waiting import Watcher, notify
from barnabas.storage.directory_worker import DirectoryStalled
from barnabas.storage.log import Log
from barnabas.storage.log_slice import LogSlice


class ReadablePartition:
    """A part of `Partition`."""

    __slots__ = ("_stable_offset", "replica_watchers", "stable_watchers", "watchers")

    topic_partition: TopicPartition

    def __init__(self) -> None:
        self.watchers: dict[Watcher, None] = {}
        """Consumers that read up to the high watermark. They are woken in the order of arrival."""
        self.stable_watchers: dict[Watcher, None] = {}
        """Consumers that read committed records only: an append behind an open transaction wakes none."""
        self.replica_watchers: dict[Watcher, None] = {}
        """Followers: every append wakes them, before it is flushed here."""
        self._stable_offset: int = -1
        """The last stable offset that `stable_watchers` know of."""

    @property
    def log(self) -> Log:
        raise NotImplementedError

    def watch(self, watcher: Watcher, isolation: FetchIsolation) -> None:
        """Report to `watcher` what becomes readable, until `unwatch`."""
        if isolation is FetchIsolation.LOG_END:
            self.replica_watchers[watcher] = None
        elif isolation is FetchIsolation.HIGH_WATERMARK:
            self.watchers[watcher] = None
        else:
            if not self.stable_watchers:
                self._stable_offset = self.log.last_stable_offset
            self.stable_watchers[watcher] = None

    def unwatch(self, watcher: Watcher) -> None:
        self.watchers.pop(watcher, None)
        self.stable_watchers.pop(watcher, None)
        self.replica_watchers.pop(watcher, None)

    def waiting_fetches(self) -> Iterator[Watcher]:
        yield from self.watchers
        yield from self.stable_watchers
        yield from self.replica_watchers

    def notify_stable_watchers(self, log: Log, first_offset: int, added: int) -> None:
        known, self._stable_offset = self._stable_offset, log.last_stable_offset
        if self._stable_offset > known:
            # More than was appended if a transaction ended: only reading shows how much.
            notify(self.stable_watchers, added if known >= first_offset else 0, self.topic_partition)

    def read(
        self, offset: int, max_bytes: int, *, isolation: FetchIsolation, min_one_batch: bool
    ) -> ReadResult:
        """Records from `offset` on that the reader may see; raises OffsetOutOfRange."""
        log = self.log
        high_watermark, stable = log.high_watermark, log.last_stable_offset
        if isolation is FetchIsolation.HIGH_WATERMARK:
            up_to = high_watermark
        else:
            up_to = stable if isolation is FetchIsolation.COMMITTED else log.log_end_offset
        try:
            records = log.read(offset, max_bytes, up_to=up_to, min_one_batch=min_one_batch)
        except DirectoryStalled:
            records = None  # Readers wait, as if no new records had arrived.
        return ReadResult(high_watermark, stable, log.log_start_offset, records)

    def aborted_in(self, records: LogSlice) -> list[tuple[int, int]]:
        """Producer id and first offset of each aborted transaction that reaches into `records`."""
        log = self.log
        found = log.aborted_transactions(records.base_offset, records.next_offset_hint)
        return [(each.producer_id, each.first_offset) for each in found]
