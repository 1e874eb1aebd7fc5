import pytest

from barnabas.runtime.partitioning import partition_for


@pytest.mark.parametrize(
    ("key", "code"), [("", 0), ("a", 97), ("g1", 3242), ("group", 98629247), ("my-group", 1906497762)]
)
def test_the_hash_is_javas_without_its_sign(key: str, code: int) -> None:
    assert partition_for(key, 2**31) == code
    assert partition_for(key, 50) == code % 50


def test_the_hash_without_an_absolute_value_counts_as_zero() -> None:
    # "polygenelubricants".hashCode() is Integer.MIN_VALUE.
    assert partition_for("polygenelubricants", 2**31) == 0


def test_characters_beyond_the_basic_plane_count_as_two_units() -> None:
    # "\U0001F600".hashCode() == 31 * 0xD83D + 0xDE00
    assert partition_for("\U0001f600", 2**31) == 31 * 0xD83D + 0xDE00
