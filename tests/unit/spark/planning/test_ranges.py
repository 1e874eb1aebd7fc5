import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.limits import EARLIEST, LATEST
from barnabas.spark.planning.option_values import BadOption
from barnabas.spark.planning.ranges import OffsetRange, batch_ranges, split


def _range(partition: int, start: int, stop: int) -> OffsetRange:
    return OffsetRange("t", partition, start, stop)


_ranges = st.lists(st.tuples(st.integers(0, 10**12), st.integers(-5, 10**6)), max_size=6).map(
    lambda drawn: [_range(index, start, start + size) for index, (start, size) in enumerate(drawn)]
)


@given(_ranges, st.none() | st.integers(1, 50), st.none() | st.integers(5000, 10**6))
def test_parts_are_the_whole(ranges: list[OffsetRange], least: int | None, most: int | None) -> None:
    parts = split(ranges, least, most)
    assert all(each.size > 0 for each in parts)
    for whole in ranges:
        mine = [each for each in parts if each.topic_partition == whole.topic_partition]
        if whole.size <= 0:
            assert not mine
            continue
        assert mine[0].start == whole.start
        assert mine[-1].stop == whole.stop
        assert all(a.stop == b.start for a, b in itertools.pairwise(mine))
        assert most is None or all(each.size <= most for each in mine)


@pytest.mark.parametrize(
    ("sizes", "least", "most", "parts"),
    [
        ([5, 8], None, None, [5, 8]),
        ([5, 0, 8], 1, None, [5, 8]),
        ([100], 3, None, [33, 33, 34]),
        ([1, 1000], 4, None, [1, 333, 333, 334]),
        ([10, 10, 10], 3, None, [10, 10, 10]),
        ([100, 100], 4, None, [50, 50, 50, 50]),
        ([10], None, 4, [3, 3, 4]),
        ([10, 3], None, 5, [5, 5, 3]),
        ([40], 4, 20, [10, 10, 10, 10]),
        ([2], 5, None, [1, 1]),
    ],
)
def test_tasks_are_counted_as_spark_counts_them(
    sizes: list[int], least: int | None, most: int | None, parts: list[int]
) -> None:
    ranges = [_range(index, 0, size) for index, size in enumerate(sizes)]
    assert [each.size for each in split(ranges, least, most)] == parts


def _lookup(wanted: Mapping[TopicPartition, int]) -> Offsets:
    return {topic_partition: 10 if offset == EARLIEST else 110 for topic_partition, offset in wanted.items()}


def _no_lookup(wanted: Mapping[TopicPartition, int]) -> Offsets:
    raise AssertionError(wanted)


def test_a_batch_that_is_not_split_is_bound_by_its_tasks() -> None:
    start, end = {("t", 0): EARLIEST, ("t", 1): 5}, {("t", 0): LATEST, ("t", 1): 9}
    found = batch_ranges(start, end, _no_lookup, min_partitions=2, max_records=None)
    assert found == [_range(0, EARLIEST, LATEST), _range(1, 5, 9)]


def test_only_inner_ends_of_a_split_batch_are_bound() -> None:
    start, end = {("t", 0): EARLIEST}, {("t", 0): LATEST}
    found = batch_ranges(start, end, _lookup, min_partitions=3, max_records=None)
    assert found == [_range(0, EARLIEST, 43), _range(0, 43, 76), _range(0, 76, LATEST)]


def test_a_batch_is_split_by_records_although_its_ends_are_not_bound() -> None:
    found = batch_ranges(
        {("t", 0): EARLIEST}, {("t", 0): LATEST}, _lookup, min_partitions=None, max_records=60
    )
    assert found == [_range(0, EARLIEST, 60), _range(0, 60, LATEST)]


def test_a_start_after_the_end_is_refused() -> None:
    with pytest.raises(
        BadOption, match="The resolved start offset 9 is greater than the resolved end offset 5"
    ):
        batch_ranges({("t", 0): 9}, {("t", 0): 5}, _no_lookup, min_partitions=None, max_records=None)


def test_partitions_that_came_in_between_are_refused() -> None:
    with pytest.raises(BadOption, match=r"topics\[t-0\] and ending offsets topics\[t-0,t-1\]"):
        batch_ranges(
            {("t", 0): 0}, {("t", 0): 5, ("t", 1): 5}, _no_lookup, min_partitions=None, max_records=None
        )
