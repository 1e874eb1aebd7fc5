from datetime import UTC, datetime
from pathlib import Path

import pytest

from barnabas.pipelines.common.table import TableFile
from barnabas.pipelines.offline_load.compaction import is_closed, small_files
from barnabas.pipelines.offline_load.table_lock import locked

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


def test_a_lock_is_free_again_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="inside"), locked(tmp_path / "table"):
        raise RuntimeError("inside")
    with locked(tmp_path / "table"):
        pass
