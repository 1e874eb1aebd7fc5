import re
import time
from collections.abc import Iterator

import pytest

from barnabas.cli.perf.date_format import check_format, format_time


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", "2001-09-09 01:46:40:125"),
        ("dd MMM yy 'at' hh a", "09 Sep 01 at 01 AM"),
        ("HH''mm", "01'46"),
        ("S", "125"),
    ],
)
def test_times_are_written_as_java_writes_them(pattern: str, text: str) -> None:
    assert format_time(pattern, 1_000_000_000.125) == text


def test_unknown_letters_are_named() -> None:
    with pytest.raises(ValueError, match=re.escape("qq")):
        check_format("yyyy qq")
