"""What all logs of one directory share: the file system, the clock and the callbacks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random, SystemRandom

from barnabas.base.clock import Clock, SystemClock
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.storage.deleted_files import DeletedSink, unlink_now
from barnabas.storage.directory_worker import DirectoryWorker
from barnabas.storage.open_files import OpenFiles
from barnabas.storage.open_segments import OpenSegments
from barnabas.storage.producer_state import DEFAULT_EXPIRATION_MS


def _ignore_failure(error: OSError) -> None:
    """A log that stands alone has no directory to take offline."""


def _ignore_truncation() -> None:
    """A log that stands alone keeps no checkpoint."""


def _ignore_cut(key: TopicPartition, offset: int) -> None:
    """A log that stands alone keeps no checkpoint."""


@dataclass(slots=True)
class LogEnvironment:
    fs: FileSystem = field(default_factory=FileSystem)
    clock: Clock = field(default_factory=SystemClock)
    rng: Random = field(default_factory=SystemRandom)
    """For the jitter of rolls, the ids of directories and the names of deleted ones."""
    open_segments: OpenSegments = field(default_factory=OpenSegments)
    open_files: OpenFiles = field(default_factory=OpenFiles)
    worker: DirectoryWorker | None = None
    """The thread that the event loop uses the directory through, where there are others to serve."""
    producer_expiration_ms: int = DEFAULT_EXPIRATION_MS
    on_failure: Callable[[OSError], None] = _ignore_failure
    """The disk failed under a log: its directory goes offline."""
    on_deleted: DeletedSink = unlink_now
    """Files are renamed and out of use: unlink them, later and elsewhere."""
    on_truncated: Callable[[], None] = _ignore_truncation
    """A recovery point went back: write it down before anything new is appended behind it."""
    on_cut: Callable[[TopicPartition, int], None] = _ignore_cut
    """A log was truncated to an offset: what is noted beyond it no longer holds."""
