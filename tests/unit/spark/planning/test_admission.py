from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning import Offsets
from barnabas.spark.planning.admission import TriggerDelay, limited, waiting

A, B, C = ("t", 0), ("t", 1), ("t", 2)
_backlogs = st.lists(st.tuples(st.integers(0, 2**62), st.integers(-3, 2**40)), min_size=1, max_size=8).map(
    lambda drawn: (
        {("t", i): s for i, (s, _) in enumerate(drawn)},
        {("t", i): s + n for i, (s, n) in enumerate(drawn)},
    )
)


@given(_backlogs, st.integers(1, 2**63 - 1))
def test_a_batch_takes_some_of_each_and_no_more_than_there_is(
    backlog: tuple[Offsets, Offsets], most: int
) -> None:
    start, latest = backlog
    ends = limited(most, start, latest, {})
    for topic_partition, end in latest.items():
        if end > start[topic_partition]:
            assert start[topic_partition] < ends[topic_partition] <= end
        else:
            assert ends[topic_partition] == end
    taken = sum(max(0, ends[topic_partition] - start[topic_partition]) for topic_partition in latest)
    assert taken <= max(most, 0) + len(latest)


@given(_backlogs)
def test_a_limit_above_the_backlog_takes_all(backlog: tuple[Offsets, Offsets]) -> None:
    start, latest = backlog
    assert limited(sum(waiting(start, latest, {}).values()) + 1, start, latest, {}) == latest


def test_partitions_share_in_proportion_to_what_waits() -> None:
    assert limited(10, {A: 0, B: 100}, {A: 90, B: 110}, {}) == {A: 9, B: 101}


def test_a_small_partition_does_not_starve() -> None:
    assert limited(10, {A: 0, B: 0, C: 7}, {A: 10_000, B: 1, C: 7}, {}) == {A: 9, B: 1, C: 7}


def test_a_new_partition_counts_from_its_earliest_offset() -> None:
    assert waiting({A: 5}, {A: 5, B: 30}, {B: 10}) == {B: 20}
    assert limited(4, {A: 5}, {A: 5, B: 30}, {B: 10}) == {A: 5, B: 14}


def test_a_batch_waits_for_enough_but_not_for_ever() -> None:
    delay = TriggerDelay(100, 1000)
    assert not delay.must_wait(1, 0)  # the first one
    assert delay.must_wait(99, 500)
    assert not delay.must_wait(100, 600)
    assert delay.must_wait(5, 1599)
    assert not delay.must_wait(5, 1600)
    assert delay.must_wait(5, 1601)
