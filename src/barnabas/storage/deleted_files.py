"""Files that are out of every lookup, renamed, and wait to be unlinked.

The delay lets requests that still hold a range of such a file finish; the unlink itself may take long on a
large file, so it is handed to the caller to run in a thread.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from barnabas.base.filesystem import FileSystem


@dataclass(frozen=True, slots=True)
class DeletedFiles:
    fs: FileSystem
    paths: tuple[Path, ...]
    delay_ms: int
    directory: Path | None = None
    """A whole partition's directory, if that is what is deleted."""

    @property
    def log_directory(self) -> Path:
        """The entry of `log.dirs` that they are in."""
        return self.paths[0].parent.parent if self.directory is None else self.directory.parent

    def run(self) -> None:
        """Unlink everything. Files that are removed already are ignored."""
        for path in self.paths:
            self.fs.unlink(path)
        if self.directory is not None:
            self.fs.rmtree(self.directory)


DeletedSink = Callable[[DeletedFiles], None]


def unlink_now(deleted: DeletedFiles) -> None:
    """The sink for callers that do not schedule: unlinks at once."""
    deleted.run()
