import logging
import re
import sys

from barnabas.cli.log_format import KafkaFormatter


def _format(level: int, message: str, *arguments: object, error: bool = False) -> str:
    trace = sys.exc_info() if error else None
    record = logging.LogRecord("barnabas.storage", level, "file", 1, message, arguments, trace)
    return KafkaFormatter().format(record)


def test_line_has_kafkas_shape() -> None:
    line = _format(logging.INFO, "Loaded %d logs", 3)
    assert re.fullmatch(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO Loaded 3 logs \(barnabas\.storage\)", line
    )


def test_levels_have_log4js_names() -> None:
    assert " WARN x (" in _format(logging.WARNING, "x")
    assert " FATAL x (" in _format(logging.CRITICAL, "x")


def test_line_break_in_a_message_cannot_forge_a_second_line() -> None:
    assert "client a\\r\\n[2026] INFO b" in _format(logging.INFO, "client %s", "a\r\n[2026] INFO b")


def test_traceback_follows_the_line() -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        lines = _format(logging.ERROR, "failed", error=True).splitlines()
    assert lines[0].endswith("ERROR failed (barnabas.storage)")
    assert lines[-1] == "ValueError: boom"
