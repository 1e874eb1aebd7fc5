from barnabas.cli.group_progress import Progress, Seconds
from barnabas.cli.group_tables import groups_table, plan_table, progress_table
from barnabas.client.admin.group_lag import PartitionLag
from barnabas.client.admin.group_offsets import CommittedOffset
from barnabas.client.admin.offset_reset import Adjustment, NewOffset


def _progress(current: int | None, end: int, catch_up: Seconds | None) -> Progress:
    committed = None if current is None else CommittedOffset(current, None, "")
    return Progress(PartitionLag("t", 0, committed, end, None), 1.0, catch_up)


def test_colour_says_how_the_group_does() -> None:
    rows = [
        _progress(5, 5, Seconds(0)),
        _progress(1, 5, Seconds(4)),
        _progress(1, 5, None),
        _progress(None, 5, None),
    ]
    table = progress_table("", rows, with_total=False)
    assert [table.colours(row) for row in table.rows] == ["green", "yellow", "red", "dim"]


def test_total_has_the_sum_of_lag_and_rate_and_the_last_to_catch_up() -> None:
    rows = [_progress(0, 10, Seconds(10)), _progress(5, 10, Seconds(5))]
    table = progress_table("", rows, with_total=True)
    assert list(table.rows[-1]) == ["total", "", "", "", 15, 2.0, Seconds(10), ""]


def test_plan_has_the_change_and_why_it_is_not_what_was_asked_for() -> None:
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
