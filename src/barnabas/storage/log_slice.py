"""A range of a `.log` file that holds the records asked for: to be sent as it is, by `sendfile`."""

from dataclasses import dataclass

from barnabas.base.filesystem import LogFile


@dataclass(slots=True)
class LogSlice:
    """Starts with the batch that holds the asked offset. The last batch may be cut, the first never is."""

    file: LogFile
    position: int
    size: int
    base_offset: int
    """Of the first batch."""
    next_offset_hint: int
    """No record of the slice has this offset or a later one."""

    def read(self) -> bytes:
        """The bytes, for those who cannot send from a file."""
        return self.file.read_at(self.position, self.size)
