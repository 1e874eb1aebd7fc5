import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.offset_index import OffsetIndex


def index_of(*entries: tuple[int, int], base: int = 100) -> OffsetIndex:
    index = OffsetIndex(base)
    for offset, position in entries:
        index.append(offset, position)
    return index


def test_an_entry_is_a_relative_offset_and_a_position() -> None:
    assert index_of((119, 7854)).encode() == bytes.fromhex("00000013 00001eae")


def test_lookup_gives_the_last_batch_that_ends_at_or_before_the_offset() -> None:
    index = index_of((109, 500), (119, 900))
    assert [index.lookup(offset) for offset in (100, 108, 109, 118, 119, 500)] == [0, 0, 500, 500, 900, 900]


def test_boundary_before_gives_a_known_start_of_a_batch() -> None:
    index = index_of((109, 500), (119, 900))
    assert [index.boundary_before(position) for position in (0, 499, 500, 899, 5000)] == [0, 0, 500, 500, 900]


def test_truncation_keeps_entries_below_the_offset() -> None:
    index = index_of((109, 500), (119, 900))
    index.truncate_to(119)
    assert (list(index.offsets), list(index.positions)) == ([9], [500])


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=20))
def test_encoding_is_reversible(entries: list[tuple[int, int]]) -> None:
    offsets, positions = sorted(first for first, _ in entries), sorted(second for _, second in entries)
    index = index_of(*zip(offsets, positions, strict=True), base=0)
    again = OffsetIndex.decode(0, index.encode(), 1001)
    assert (again.offsets, again.positions) == (index.offsets, index.positions)


@pytest.mark.parametrize(
    "data",
    [
        b"1234567",
        index_of((109, 500)).encode() + b"x",
        index_of((109, 1000)).encode(),
        index_of((99, 500)).encode(),
        index_of((120, 500), (110, 600)).encode(),
        index_of((110, 700), (120, 600)).encode(),
    ],
    ids=["short", "torn", "beyond the log", "before the base", "falling offsets", "falling positions"],
)
def test_an_index_that_cannot_belong_to_the_log_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptIndex):
        OffsetIndex.decode(100, data, 1000)
