"""Errors that the brokers of a simulation logged with a traceback: code met what it was not written for."""

import logging
import traceback
from types import TracebackType
from typing import Self


class UnexpectedErrors(logging.Handler):
    """Collects them while it is entered."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            lines = traceback.format_exception(record.exc_info[1])
            self.found.append(f"{record.name}: {record.getMessage()}\n{''.join(lines[-14:])}")

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger().removeHandler(self)
