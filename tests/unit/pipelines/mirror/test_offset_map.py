import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipelines.mirror import offset_map
from barnabas.pipelines.mirror.offset_map import OffsetMap, OffsetRun, Stretch, of_json, thinned, to_json

TOPIC_PARTITION = ("orders", 3)


def stretch(offsets: list[int], target_first: int) -> Stretch:
    """Of these source offsets, which lie at the target one after the other, then a marker."""
    runs: list[OffsetRun] = []
    for offset in offsets:
        if runs and offset == runs[-1].start + runs[-1].length:
            runs[-1] = OffsetRun(runs[-1].start, runs[-1].length + 1)
        else:
            runs.append(OffsetRun(offset, 1))
    end = target_first + len(offsets) + 1
    return Stretch(offsets[0], offsets[-1] + 1, target_first, end, thinned(runs))


def test_an_offset_without_gaps_moves_by_the_difference() -> None:
    offsets = OffsetMap()
    offsets.add(TOPIC_PARTITION, stretch(list(range(100, 200)), 0))
    assert offsets.translate(TOPIC_PARTITION, 100) == 0
    assert offsets.translate(TOPIC_PARTITION, 142) == 42


def test_a_marker_at_the_target_is_passed() -> None:
    offsets = OffsetMap()
    offsets.add(TOPIC_PARTITION, stretch([0, 1, 2], 0))
    offsets.add(TOPIC_PARTITION, stretch([3, 4], 4))
    assert [offsets.translate(TOPIC_PARTITION, offset) for offset in range(6)] == [0, 1, 2, 4, 5, 7]


def test_an_offset_in_a_gap_is_the_next_record() -> None:
    offsets = OffsetMap()
    offsets.add(TOPIC_PARTITION, stretch([0, 5, 6], 10))
    offsets.add(TOPIC_PARTITION, stretch([20], 14))
    assert [offsets.translate(TOPIC_PARTITION, offset) for offset in (1, 5, 7, 12, 20, 21)] == [
        11,
        11,
        14,
        14,
        14,
        16,
    ]


def test_beyond_what_is_mirrored_is_its_end() -> None:
    offsets = OffsetMap()
    offsets.add(TOPIC_PARTITION, stretch([0, 1], 0))
    assert offsets.translate(TOPIC_PARTITION, 1_000_000) == 3


@pytest.mark.parametrize("topic_partition", [TOPIC_PARTITION, ("other", 0)])
def test_what_is_not_known_is_not_guessed(topic_partition: tuple[str, int]) -> None:
    offsets = OffsetMap()
    offsets.add(TOPIC_PARTITION, stretch([50], 0))
    assert offsets.translate(topic_partition, 49) is None


def test_a_stretch_added_twice_counts_once() -> None:
    offsets = OffsetMap()
    offsets.add(TOPIC_PARTITION, stretch([0, 1], 0))
    offsets.add(TOPIC_PARTITION, stretch([0, 1], 0))
    assert offsets.translate(TOPIC_PARTITION, 2) == 3
    assert offsets.topic_partitions == {TOPIC_PARTITION}


def test_json_gives_back_what_it_was_given() -> None:
    given_stretch = stretch([7, 8, 11], 40)
    assert of_json(to_json(TOPIC_PARTITION, given_stretch)) == (TOPIC_PARTITION, given_stretch)


@given(st.sets(st.integers(0, 300), min_size=1, max_size=200), st.integers(1, 5))
def test_a_thinned_stretch_is_never_translated_too_far(chosen: set[int], most: int) -> None:
    ordered = sorted(chosen)
    exact = stretch(ordered, 0)
    before, offset_map.MOST_RUNS = offset_map.MOST_RUNS, most
    try:
        coarse = stretch(ordered, 0)
    finally:
        offset_map.MOST_RUNS = before
    assert len(coarse.runs) <= most
    for offset in range(ordered[0], ordered[-1] + 3):
        right = sum(each < offset for each in ordered) if offset <= ordered[-1] else exact.target_end
        assert exact.translate(offset) == right
        assert coarse.translate(offset) <= right
