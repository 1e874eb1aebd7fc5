import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning import Offsets
from barnabas.spark.planning.offset_json import (
    BadOffset,
    initial_offsets,
    offset_dict,
    offsets_of,
    topic_ids_of,
)

_topic_partitions = st.tuples(
    st.text("abcXYZ019._-", min_size=1, max_size=8), st.integers(min_value=0, max_value=2**31 - 1)
)
_offsets = st.dictionaries(_topic_partitions, st.integers(min_value=-2, max_value=2**63 - 1), max_size=8)


@given(_offsets)
def test_offsets_survive_the_checkpoint(offsets: Offsets) -> None:
    assert offsets_of(json.loads(json.dumps(offset_dict(offsets)))) == offsets


@given(_offsets, _offsets)
def test_initial_offsets_travel_beside_them(offsets: Offsets, initial: Offsets) -> None:
    written = json.loads(json.dumps(offset_dict(offsets, initial)))
    assert offsets_of(written) == offsets
    assert initial_offsets(written) == initial


@given(
    _offsets,
    _offsets,
    st.dictionaries(
        _topic_partitions.map(lambda topic_partition: topic_partition[0]), st.text("aZ0-_", min_size=22)
    ),
)
def test_topic_ids_travel_beside_them(offsets: Offsets, initial: Offsets, ids: dict[str, str]) -> None:
    written = json.loads(json.dumps(offset_dict(offsets, initial, ids)))
    assert offsets_of(written) == offsets
    assert initial_offsets(written) == initial
    topics = {topic for topic, _ in offsets}
    assert topic_ids_of(written) == {topic: text for topic, text in ids.items() if topic in topics}


@given(_offsets, _offsets)
def test_sparks_connector_reads_what_it_knows(offsets: Offsets, initial: Offsets) -> None:
    """It takes every key for a topic, and every key in it for the number of a partition."""
    written = offset_dict(offsets, initial, dict.fromkeys((topic for topic, _ in offsets), "id"))
    read = {
        (topic, int(number)): offset for topic, parts in written.items() for number, offset in parts.items()
    }
    assert read == offsets


@given(_offsets, st.randoms(use_true_random=False))
def test_equal_offsets_are_equal_texts(offsets: Offsets, random: st.DataObject) -> None:
    shuffled = list(offsets.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert json.dumps(offset_dict(dict(shuffled))) == json.dumps(offset_dict(offsets))


def test_partitions_are_in_the_order_of_their_numbers() -> None:
    assert json.dumps(offset_dict({("b", 10): 1, ("b", 9): 2, ("a", 0): 3})) == (
        '{"a": {"0": 3}, "b": {"9": 2, "10": 1}}'
    )


def test_later_offsets_have_no_initial_ones() -> None:
    assert initial_offsets(offset_dict({("a", 0): 3})) is None
    assert topic_ids_of(offset_dict({("a", 0): 3})) == {}


@pytest.mark.parametrize("text", ['{"a": 5}', '{"a": {"x": 5}}', '{"a": {"0": null}}'])
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(BadOffset, match="Expected"):
        offsets_of(json.loads(text))
