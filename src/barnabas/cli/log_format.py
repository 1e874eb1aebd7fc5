"""Log lines in the format of Apache Kafka: `[2026-01-01 12:00:00,000] INFO message (component)`."""

import logging
import sys

_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}


class KafkaFormatter(logging.Formatter):
    """Formats a record as one line. Escapes line breaks in the message, which may come from a client.

    A traceback follows on lines of its own.
    """

    def __init__(self) -> None:
        super().__init__("[%(asctime)s] %(level)s %(message)s (%(name)s)")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the name is logging's
        record.level = _LEVELS.get(record.levelname, record.levelname)
        record.message = record.message.replace("\r", "\\r").replace("\n", "\\n")
        return super().formatMessage(record)


def log_to_stderr(*, quiet: bool = False) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(KafkaFormatter())
    logging.basicConfig(level=logging.WARNING if quiet else logging.INFO, handlers=[handler], force=True)
