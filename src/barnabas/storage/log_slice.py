"""A range of a `.log` file that holds the requested records: to be sent as it is, by `sendfile`."""

from dataclasses import dataclass

from barnabas.base.filesystem import LogFile


@dataclass(slots=True)
class LogSlice:
    """Starts with the batch that holds the requested offset. The last batch may be cut, the first is not."""

    file: LogFile
    position: int
    size: int
    base_offset: int
    """Of the first batch."""
    next_offset_hint: int
    """No record of the slice has this offset or a later one."""

    def read(self) -> bytes:
        """Returns the bytes, for callers that cannot send from a file."""
        return self.file.read_at(self.position, self.size)
