import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import InvalidRequest
from barnabas.wire.primitives import (
    compact_string,
    legacy_string,
    read_unsigned_varint,
    write_unsigned_varint,
)


@given(st.integers(0, (1 << 32) - 1))
def test_varint_reads_back(value: int) -> None:
    data = write_unsigned_varint(value)

    assert read_unsigned_varint(memoryview(b"#" + data + b"#"), 1) == (value, 1 + len(data))


@pytest.mark.parametrize(("value", "data"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_varint_has_seven_bits_a_byte(value: int, data: str) -> None:
    assert write_unsigned_varint(value).hex() == data


def test_varint_of_six_bytes_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        read_unsigned_varint(memoryview(b"\xff" * 6), 0)


def test_strings_carry_their_length_in_bytes() -> None:
    assert compact_string("ü") == b"\x03\xc3\xbc"
    assert legacy_string("ü") == b"\x00\x02\xc3\xbc"
    assert (compact_string(None), legacy_string(None)) == (b"\x00", b"\xff\xff")
    assert (compact_string(""), legacy_string("")) == (b"\x01", b"\x00\x00")
