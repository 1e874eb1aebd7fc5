import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.registry.errors import BadRecord
from barnabas.spark.registry.framing import message_index, payload, schema_id


def _zigzag(number: int) -> bytes:
    value, octets = number << 1, bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def test_a_frame_is_a_zero_an_id_and_a_payload() -> None:
    frame = b"\0\x00\x01\x00\x02abc"
    assert schema_id(frame) == 65538
    assert payload(frame) == b"abc"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [(b"", "0 bytes are too few"), (b"\0\0\0\1", "4 bytes are too few"), (b'{"a":1}', "first byte is 123")],
)
def test_what_is_no_frame_is_named(frame: bytes, reason: str) -> None:
    with pytest.raises(BadRecord, match=reason):
        schema_id(frame)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), st.binary(max_size=10))
def test_a_path_to_a_message_is_read_back(path: list[int], body: bytes) -> None:
    content = _zigzag(len(path)) + b"".join(map(_zigzag, path)) + body
    assert message_index(content) == (tuple(path), body)


def test_a_single_zero_is_the_first_message() -> None:
    assert message_index(b"\0body") == ((0,), b"body")


@given(st.binary(max_size=12))
def test_any_bytes_are_a_path_or_a_bad_record(content: bytes) -> None:
    try:
        path, body = message_index(content)
    except BadRecord:
        return
    assert len(path) + len(body) <= len(content) + 1
