import pytest

from barnabas.storage.index_errors import CorruptIndex
from barnabas.storage.time_index import TimeIndex


def index_of(*entries: tuple[int, int]) -> TimeIndex:
    index = TimeIndex(100)
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    return index


def test_an_entry_is_a_timestamp_and_a_relative_offset() -> None:
    assert index_of((1_700_000_000_190, 119)).encode() == bytes.fromhex("0000018bcfe568be 00000013")


def test_only_later_timestamps_are_added() -> None:
    assert (
        index_of((50, 110), (50, 120), (40, 130), (60, 140)).encode()
        == index_of((50, 110), (60, 140)).encode()
    )


def test_lookup_starts_the_scan_before_the_timestamp() -> None:
    index = index_of((50, 110), (60, 140))
    assert [index.lookup(timestamp) for timestamp in (10, 50, 55, 60, 90)] == [100, 110, 110, 140, 140]


def test_last_entry_of_an_empty_index_knows_no_timestamp() -> None:
    assert index_of().last_entry == (-1, 100)
    assert index_of((50, 110)).last_entry == (50, 110)


def test_truncation_keeps_entries_below_the_offset() -> None:
    index = index_of((50, 110), (60, 140))
    index.truncate_to(140)
    assert index.last_entry == (50, 110)


@pytest.mark.parametrize("data", [b"x" * 11, index_of((50, 110), (60, 140)).encode()[::-1]])
def test_an_index_that_makes_no_sense_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptIndex):
        TimeIndex.decode(100, data)
