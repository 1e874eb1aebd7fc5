from datetime import UTC, datetime

import pytest

from barnabas.pipelines.common.hours import is_closed, small_files
from barnabas.pipelines.common.table import TableFile

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("partition", "closed"),
    [
        ("date=2026-11-16/hour=11", True),
        ("date=2026-11-16/hour=12", False),
        ("date=2026-11-15/hour=23", True),
        ("country=DE", False),
        ("", False),
    ],
)
def test_an_hour_is_closed_when_it_has_ended(partition: str, closed: bool) -> None:
    assert is_closed(partition, NOON) is closed


def test_only_two_small_files_or_more_are_worth_it() -> None:
    files = [TableFile("hour=1/a", 10), TableFile("hour=1/b", 10), TableFile("hour=1/c", 80)]
    files += [TableFile("hour=2/a", 10), TableFile("hour=2/b", 100)]
    assert small_files(files, 100) == {"hour=1": files[:2]}
