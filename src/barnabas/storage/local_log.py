"""The files of one log: which segment takes the next bytes, how segments come and go.

Knows nothing of offsets beyond those of its segments, nor of producers. Raises `OSError` as it comes; `Log`
turns it into an offline directory. A removed segment is renamed to `.deleted` at once and unlinked later by
the environment's sink; the loader removes what a crash leaves of it.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import RecordListTooLarge
from barnabas.base.filesystem import Buffer
from barnabas.storage import names
from barnabas.storage.cleaning.job import CleanedSegment
from barnabas.storage.deleted_files import DeletedFiles
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.segment import MAX_RELATIVE_OFFSET, Segment
from barnabas.storage.segments import Segments

_logger = logging.getLogger(__name__)


class LocalLog:
    def __init__(self, directory: Path, segments: Segments, environment: LogEnvironment) -> None:
        self.directory: Path = directory
        self.segments: Segments = segments
        self.active: Segment = segments.active
        self.names_dirty: bool = False
        """Files were created or renamed since the directory was last synced."""
        self.has_unsynced_segments: bool = False
        """A sealed segment waits for the flush that writes its indexes and makes it durable."""
        self._environment: LogEnvironment = environment
        self.find_unsynced_segments()

    def must_roll(
        self, config: LogConfig, size: int, max_timestamp: int, last_offset: int, now_ms: int
    ) -> bool:
        """Whether bytes that end at `last_offset` belong into a new segment: by size, age or offset."""
        segment = self.active
        limit = config.segment_bytes
        if segment.size + size > limit:
            if size > limit:
                raise RecordListTooLarge(f"{size} bytes exceed segment.bytes, which is {limit}")
            return True
        if segment.size:
            first = segment.first_timestamp
            if first is None:
                first = segment.load_first_timestamp()
            waited = max_timestamp - first if first >= 0 else now_ms - segment.created_ms
            if waited > config.segment_ms - segment.roll_jitter_ms:
                return True
        if last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            return True
        index_bytes = config.segment_index_bytes
        return segment.index_entries >= index_bytes // 12 - 1 and segment.is_full(index_bytes)

    def write(self, buffers: tuple[Buffer, ...], size: int) -> int:
        """Write behind the last batch and return the position; what is not written whole does not exist."""
        segment = self.active
        if segment.has_index_files:
            self._unlink_indexes(segment)
        position = segment.size
        file = segment.file
        try:
            file.write_at(position, buffers, size)
        except OSError:
            try:
                file.truncate(position)
            except OSError:
                _logger.warning("%s: could not cut a failed append at %d", self.directory, position)
            raise
        segment.size = position + size
        return position

    def roll(self, offset: int, config: LogConfig) -> None:
        """Seal the active segment and begin one at `offset`. Its indexes are written by the next flush."""
        sealed = self.active
        sealed.seal_time_index()
        sealed.trim()
        self.active = self._create(offset, config)
        self.segments.add(self.active)
        self.has_unsynced_segments = True
        self._environment.open_segments.touch(sealed)

    def unsynced_segments(self) -> list[Segment]:
        """The sealed segments of which something is not durable."""
        return [segment for segment in self.segments if segment is not self.active and not segment.is_synced]

    def find_unsynced_segments(self) -> None:
        self.has_unsynced_segments = bool(self.unsynced_segments())

    def _create(self, offset: int, config: LogConfig) -> Segment:
        self.names_dirty = True
        return create_segment(self.directory, offset, config, self._environment)

    def remove(self, segments: Iterable[Segment], delay_ms: int, others: Iterable[Path] = ()) -> None:
        """Take segments out of the log and rename their files; `others` are renamed already and go along."""
        paths = list(others)
        for segment in segments:
            self.segments.remove(segment)
            self._environment.open_segments.forget(segment)
            paths += self._mark_deleted(segment)
        self.names_dirty = True
        if paths:
            self._environment.on_deleted(DeletedFiles(self._environment.fs, tuple(paths), delay_ms))

    def replace(
        self, cleaned: CleanedSegment, old: Iterable[Segment], config: LogConfig
    ) -> tuple[Segment, list[Path]]:
        """Replace the sealed segments `old` by the `.cleaned` files of a compacted segment.

        Kafka's order, which the loader completes or undoes from any point: all files to `.swap`, the old ones
        to `.deleted`, then the new ones to their names. The caller syncs the directory before it unlinks.
        """
        fs, deleted = self._environment.fs, []
        moved = [names.file_name(cleaned.base_offset, suffix) for suffix in names.SEGMENT_SUFFIXES]
        if not cleaned.has_txn_index:
            moved.pop()
        for name in moved:
            fs.rename(self.directory / (name + names.CLEANED), self.directory / (name + names.SWAP))
        for segment in old:
            self._environment.open_segments.forget(segment)
            deleted += self._mark_deleted(segment)
        for name in moved:
            fs.rename(self.directory / (name + names.SWAP), self.directory / name)
        new = Segment(
            self.directory,
            cleaned.base_offset,
            fs,
            self._environment.open_files,
            size=cleaned.size,
            index_interval_bytes=config.index_interval_bytes,
            created_ms=self._environment.clock.now_ms(),
            has_txn_index=cleaned.has_txn_index,
        )
        for segment in old:
            self.segments.remove(segment)
        self.segments.add(new)
        self.names_dirty = True
        return new, deleted

    def _mark_deleted(self, segment: Segment) -> list[Path]:
        deleted = []
        for path in segment.paths():
            target = Path(f"{path}{names.DELETED}")
            try:
                self._environment.fs.rename(path, target)
            except FileNotFoundError:
                continue
            deleted.append(target)
        return deleted

    def truncate_to(self, offset: int) -> list[Segment]:
        """Cut every batch at or beyond `offset`; returns the later segments, which the caller removes.

        Both are made durable at once: an old batch must not come back behind a new one.
        """
        later = [segment for segment in self.segments if segment.base_offset > offset]
        kept = self.segments.floor(offset)
        assert kept is not None
        self._unlink_indexes(kept)
        kept.truncate_to(offset, self._environment.clock.now_ms())
        self.active = kept
        self._environment.open_segments.forget(kept)
        return later

    def _unlink_indexes(self, segment: Segment) -> None:
        segment.unlink_indexes()
        self.names_dirty = True

    def sync_names(self) -> None:
        self._environment.fs.sync_dir(self.directory)
        self.names_dirty = False

    def restart_at(self, offset: int, config: LogConfig) -> None:
        """Begin anew with one empty segment; the caller has removed all others."""
        self.active = self._create(offset, config)
        self.segments.add(self.active)

    def close(self) -> None:
        for segment in self.segments:
            self._environment.open_segments.forget(segment)
            segment.release()


def create_segment(directory: Path, offset: int, config: LogConfig, environment: LogEnvironment) -> Segment:
    jitter = min(config.segment_jitter_ms, config.segment_ms)
    return Segment.create(
        directory,
        offset,
        environment.fs,
        environment.open_files,
        index_interval_bytes=config.index_interval_bytes,
        created_ms=environment.clock.now_ms(),
        roll_jitter_ms=environment.rng.randrange(jitter) if jitter > 0 else 0,
        preallocate=config.segment_bytes if config.preallocate else 0,
    )
