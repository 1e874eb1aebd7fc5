from collections.abc import Mapping

import pytest

from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.binding import bound
from barnabas.spark.planning.ending import ending_offsets
from barnabas.spark.planning.limits import (
    EARLIEST,
    FROM_EARLIEST,
    FROM_LATEST,
    LATEST,
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Limit,
)
from barnabas.spark.planning.option_values import BadOption
from barnabas.spark.planning.starting import starting_offsets

A, B = ("t", 0), ("t", 1)
BOTH = frozenset({A, B})
FIRST: Offsets = {A: 3, B: 0}
LAST: Offsets = {A: 10, B: 5}


def _lookup(wanted: Mapping[TopicPartition, int]) -> Offsets:
    """A log whose record at offset n was written at time 100 * n."""

    def answer(topic_partition: TopicPartition, timestamp: int) -> int:
        if timestamp in (EARLIEST, LATEST):
            return (FIRST if timestamp == EARLIEST else LAST)[topic_partition]
        offset = max(FIRST[topic_partition], -(-timestamp // 100))
        return offset if offset < LAST[topic_partition] else -1

    return {
        topic_partition: answer(topic_partition, timestamp) for topic_partition, timestamp in wanted.items()
    }


def _start(limit: Limit, *, latest_without_match: bool = False) -> Offsets:
    return bound(starting_offsets(limit, BOTH, _lookup, latest_without_match=latest_without_match), _lookup)


def test_a_word_is_one_end_of_every_partition() -> None:
    assert _start(FROM_EARLIEST) == FIRST
    assert _start(FROM_LATEST) == LAST
    assert starting_offsets(FROM_EARLIEST, BOTH, _lookup, latest_without_match=False) == {
        A: EARLIEST,
        B: EARLIEST,
    }


def test_offsets_may_be_mixed_with_ends() -> None:
    assert _start(AtOffsets({A: 7, B: LATEST})) == {A: 7, B: 5}
    assert _start(AtOffsets({A: EARLIEST, B: 1})) == {A: 3, B: 1}
    assert bound(ending_offsets(AtOffsets({A: 7, B: LATEST}), BOTH, _lookup), _lookup) == {A: 7, B: 5}


def test_a_time_is_the_first_record_not_before_it() -> None:
    assert _start(AtTimestamp(350)) == {A: 4, B: 4}
    assert _start(AtTimestamps({A: 0, B: 101})) == {A: 3, B: 2}
    assert ending_offsets(AtTimestamp(350), BOTH, _lookup) == {A: 4, B: 4}


def test_a_start_after_the_last_record_is_an_error_or_the_end() -> None:
    with pytest.raises(
        BadOption, match=r"No offset matched from request of topic-partition t-1 and timestamp 500"
    ):
        _start(AtTimestamp(500))
    assert _start(AtTimestamp(500), latest_without_match=True) == {A: 5, B: 5}


def test_an_end_after_the_last_record_is_the_end() -> None:
    assert ending_offsets(AtTimestamp(500), BOTH, _lookup) == {A: 5, B: LATEST}
    assert ending_offsets(FROM_LATEST, BOTH, _lookup) == {A: LATEST, B: LATEST}


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (AtOffsets({A: 1}), "you must specify all TopicPartitions.*Specified: t-0 Assigned: t-0, t-1"),
        (AtOffsets({A: 1, B: 1, ("x", 0): 1}), "Specified: t-0, t-1, x-0 Assigned: t-0, t-1"),
        (
            AtTimestamps({B: 1}),
            "timestamp based start offsets don't match.*Specified: t-1 Assigned: t-0, t-1",
        ),
    ],
)
def test_a_start_names_every_partition(limit: Limit, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        _start(limit)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (
            AtOffsets({A: 1}),
            "Kafka end offsets don't match what are assigned.*Specified: t-0 Assigned: t-0, t-1",
        ),
        (AtTimestamps({B: 1}), "timestamp based end offsets don't match"),
    ],
)
def test_an_end_names_every_partition(limit: Limit, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        ending_offsets(limit, BOTH, _lookup)


def test_bound_offsets_need_no_request() -> None:
    def lookup(wanted: Mapping[TopicPartition, int]) -> Offsets:
        raise AssertionError(wanted)

    assert bound({A: 0, B: 9}, lookup) == {A: 0, B: 9}
