import json

import pytest

from barnabas.cli.group_tables import Seconds, groups_table, plan_table, progress_table
from barnabas.client.admin.group_lag import PartitionLag
from barnabas.client.admin.group_offsets import CommittedOffset
from barnabas.client.admin.group_progress import PartitionProgress
from barnabas.client.admin.offset_reset import Adjustment, NewOffset


def _progress(current: int | None, end: int, catch_up: float | None) -> PartitionProgress:
    committed = None if current is None else CommittedOffset(current, None, "")
    return PartitionProgress(PartitionLag("t", 0, committed, end, None), 1.0, catch_up)


def test_colour_says_how_the_group_does() -> None:
    rows = [
        _progress(5, 5, 0.0),
        _progress(1, 5, 4.0),
        _progress(1, 5, None),
        _progress(None, 5, None),
    ]
    table = progress_table("", rows, with_total=False)
    assert [table.colours(row) for row in table.rows] == ["green", "yellow", "red", "dim"]


def test_total_has_the_sum_of_lag_and_rate_and_the_last_to_catch_up() -> None:
    rows = [_progress(0, 10, 10.0), _progress(5, 10, 5.0)]
    table = progress_table("", rows, with_total=True)
    assert list(table.rows[-1]) == ["total", "", "", "", 15, 2.0, Seconds(10), ""]


def test_plan_has_the_change_and_why_it_differs_from_the_request() -> None:
    plan = [
        NewOffset("t", 0, 3, 5, 9, Adjustment.HIGHER_THAN_END),
        NewOffset("t", 1, None, 5),
        NewOffset("t", 2, 5, 5, None, Adjustment.NO_RECORD_THAT_LATE),
    ]
    assert [row[2:] for row in plan_table(plan).rows] == [
        (3, 5, 2, "9 is higher than the latest offset"),
        (None, 5, None, ""),
        (5, 5, 0, "no record at or after that time"),
    ]


def test_groups_are_counted() -> None:
    assert groups_table([]).footer == "0 groups"
    assert groups_table([("g", "Stable", "Classic", 1, 0)]).footer == "1 group"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.4, "0s"), (59, "59s"), (60, "1m"), (125, "2m 5s"), (7200, "2h"), (90_061, "1d 1h")],
)
def test_seconds_are_words_for_people_and_a_number_in_json(seconds: float, text: str) -> None:
    assert str(Seconds(seconds)) == text
    assert json.loads(json.dumps(Seconds(seconds))) == seconds
