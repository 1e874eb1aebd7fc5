import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import InvalidRequest, KafkaError
from barnabas.wire.header import client_id_of, parse_header, skip_tags


def header(client_id: str | None) -> bytes:
    name = b"" if client_id is None else client_id.encode()
    return struct.pack(">hhih", 3, 12, 77, -1 if client_id is None else len(name)) + name


@pytest.mark.parametrize("client_id", [None, "", "me", "ümlaut"])
def test_header_is_read_up_to_the_end_of_the_client_id(client_id: str | None) -> None:
    data = header(client_id)

    parsed = parse_header(memoryview(data + b"body"))

    assert parsed == (3, 12, 77, len(data))
    assert client_id_of(memoryview(data + b"body")) == client_id


def test_header_is_refused_wherever_it_is_cut() -> None:
    data = header("client")

    for size in range(len(data)):
        with pytest.raises(InvalidRequest):
            parse_header(memoryview(data[:size]))


def test_client_id_must_be_utf_8() -> None:
    with pytest.raises(InvalidRequest, match="UTF-8"):
        client_id_of(memoryview(struct.pack(">hhih", 3, 12, 77, 2) + b"\xff\xfe"))


@pytest.mark.parametrize(
    ("tags", "size"), [(b"\x00", 1), (b"\x01\x00\x03abc", 6), (b"\x02\x00\x00\x05\x01x", 6)]
)
def test_tags_are_skipped_whatever_they_hold(tags: bytes, size: int) -> None:
    assert skip_tags(memoryview(b"##" + tags + b"rest"), 2) == 2 + size


@pytest.mark.parametrize(
    "tags", [b"", b"\x01", b"\x01\x00", b"\x01\x00\x04abc", b"\x80", b"\x80\x80\x80\x80\x80\x01"]
)
def test_torn_tags_are_refused(tags: bytes) -> None:
    with pytest.raises(InvalidRequest):
        skip_tags(memoryview(tags), 0)


@given(st.binary(max_size=60))
def test_garbage_raises_nothing_but_kafka_errors(garbage: bytes) -> None:
    for read in (parse_header, lambda frame: skip_tags(frame, 0)):
        with contextlib.suppress(KafkaError):
            read(memoryview(garbage))
