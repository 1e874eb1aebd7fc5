from barnabas.client.admin.group_description import Member
from barnabas.client.admin.group_lag import PartitionLag, joined, total_lag
from barnabas.client.admin.group_offsets import CommittedOffset


def _member(name: str, *numbers: int) -> Member:
    return Member(name, None, name, "/h", tuple(("t", number) for number in numbers))


def _committed(offset: int) -> CommittedOffset:
    return CommittedOffset(offset, None, "")


def _row(committed: int | None, end: int | None) -> PartitionLag:
    return PartitionLag("t", 0, None if committed is None else _committed(committed), end, None)


def test_member_with_most_partitions_comes_first_and_nobodys_come_last() -> None:
    members = [_member("one", 3), _member("two", 2, 1)]
    committed = {("t", 9): _committed(1), ("t", 1): _committed(2), ("s", 0): _committed(0)}
    rows = joined(members, committed, {("t", 1): 5})
    assert [(row.topic, row.partition, row.member and row.member.id) for row in rows] == [
        ("t", 1, "two"),
        ("t", 2, "two"),
        ("t", 3, "one"),
        ("s", 0, None),
        ("t", 9, None),
    ]
    assert [row.lag for row in rows] == [3, None, None, None, None]


def test_lag_is_what_is_between_the_committed_offset_and_the_end() -> None:
    assert _row(3, 10).lag == 7


def test_lag_is_not_known_without_both() -> None:
    assert _row(None, 10).lag is None
    assert _row(3, None).lag is None


def test_total_is_the_sum_of_what_is_known() -> None:
    assert total_lag([_row(3, 10), _row(None, 10), _row(0, 1)]) == 8
    assert total_lag([_row(None, 10)]) is None
