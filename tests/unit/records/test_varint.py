import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import CorruptMessage
from barnabas.records.varint import decode_varint, decode_varlong, encode_varint, size_of_varint

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        ((1 << 31) - 1, "feffffff0f"),
        (-(1 << 31), "ffffffff0f"),
        ((1 << 63) - 1, "feffffffffffffffff01"),
        (-(1 << 63), "ffffffffffffffffff01"),
    ],
)
def test_edge_values_have_the_bytes_of_the_protocol(value: int, encoded: str) -> None:
    raw = bytes.fromhex(encoded)
    assert encode_varint(value) == raw
    assert size_of_varint(value) == len(raw)
    assert decode_varlong(raw) == (value, len(raw))


@given(INT32, st.binary(max_size=3), st.binary(max_size=3))
def test_a_varint_is_read_back_between_other_bytes(value: int, before: bytes, after: bytes) -> None:
    raw = before + encode_varint(value) + after
    assert decode_varint(raw, len(before)) == (value, len(raw) - len(after))
    assert decode_varint(memoryview(raw), len(before)) == (value, len(raw) - len(after))


@given(INT64)
def test_a_varlong_is_read_back_and_refused_at_every_truncation(value: int) -> None:
    raw = encode_varint(value)
    assert decode_varlong(raw) == (value, len(raw))
    for cut in range(len(raw)):
        with pytest.raises(CorruptMessage):
            decode_varlong(raw[:cut])


@given(st.binary(max_size=16))
def test_garbage_is_a_number_or_corrupt(raw: bytes) -> None:
    for decode, bits in ((decode_varint, 31), (decode_varlong, 63)):
        try:
            value, position = decode(raw)
        except CorruptMessage:
            continue
        assert -(1 << bits) <= value < 1 << bits
        assert 0 < position <= len(raw)


@pytest.mark.parametrize("raw", [b"\xff" * 5 + b"\x01", b"\xff\xff\xff\xff\x10", b"\x80" * 400])
def test_a_varint_wider_than_32_bits_is_refused(raw: bytes) -> None:
    with pytest.raises(CorruptMessage):
        decode_varint(raw)


def test_a_varlong_wider_than_64_bits_is_refused() -> None:
    with pytest.raises(CorruptMessage):
        decode_varlong(b"\xff" * 9 + b"\x02")


def test_a_number_beyond_64_bits_is_not_written() -> None:
    with pytest.raises(ValueError):
        encode_varint(1 << 63)
