from barnabas.cli.kafka.groups.columns import Column, lines_of
from barnabas.cli.kafka.groups.describing import assignment_text


def test_columns_are_a_space_apart_and_the_last_has_none_behind_it() -> None:
    columns = [Column("A", ["x"], 4), Column("B", [None], 3), Column("C", [5])]
    assert lines_of(columns) == ["A    B   C", "x    -   5"]


def test_only_a_growing_column_becomes_wider_than_its_least_width() -> None:
    columns = [Column("A", ["longer"], 2, grows=True), Column("B", ["longer"], 2), Column("C", ["x"])]
    assert lines_of(columns) == ["A      B  C", "longer longer x"]


def test_titles_stand_alone_where_nothing_follows() -> None:
    assert lines_of([Column("A", [], 3), Column("B", [])]) == ["A   B"]


def test_assignment_is_reported_by_topic() -> None:
    assert assignment_text([("b", 0), ("a", 10), ("a", 2)]) == "a:2,10;b:0"
    assert assignment_text([]) is None
