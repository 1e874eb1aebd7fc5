"""A range of a file as a value: what a log lookup finds and what a socket sends."""

from typing import NamedTuple, Protocol


class OpenFile(Protocol):
    """A file that stays open for as long as this object is referenced."""

    @property
    def fd(self) -> int: ...

    @property
    def path(self) -> object: ...


class FileRange(NamedTuple):
    file: OpenFile
    position: int
    size: int
