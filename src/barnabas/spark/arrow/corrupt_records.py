"""What is raised for bytes that cannot become rows; the message says where they stand.

What leaves this package takes one finished message, so that it survives the pickling between Spark's
processes.
"""

import numpy as np
from numpy.typing import NDArray

from barnabas.base.errors import CorruptMessage, InvalidTimestamp


class CorruptRecords(CorruptMessage):
    """A batch whose checksum, lengths, counts or compression are wrong."""


class MalformedTimestamp(InvalidTimestamp):
    """A record's time in milliseconds that does not fit Spark's microseconds."""


class BrokenRow(Exception):
    """What is wrong with a row. The caller adds its offset."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(what)
        self.row = row


def refuse(wrong: NDArray[np.bool_], what: str, rows: NDArray[np.int64] | None = None) -> None:
    """Raise `BrokenRow` for the first row that is wrong; `rows` says which rows these are, if not all."""
    if wrong.any():
        first = int(wrong.argmax())
        raise BrokenRow(first if rows is None else int(rows[first]), what)


def location(topic: str, partition: int, offset: int) -> str:
    """How messages name a position: `orders-3 at offset 17`."""
    return f"{topic}-{partition} at offset {offset}" if topic else f"offset {offset}"
