import pytest

from barnabas.cli.dump import Unreadable
from barnabas.cli.dump.decoders import (
    ClusterMetadataDecoder,
    Decoded,
    OffsetsDecoder,
    UserDecoder,
    named_decoder,
    text_of,
    transaction_decoder,
)
from barnabas.records.record import Record


def _record(key: bytes | None, value: bytes | None) -> Record:
    return Record(7, 0, key, value)


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        ("", b"caf\xc3\xa9\xff", "café\N{REPLACEMENT CHARACTER}"),
        ("org.apache.kafka.tools.api.LongDecoder", b"\xff" * 8, "-1"),
        ("org.apache.kafka.tools.api.IntegerDecoder", b"\0\0\0\1more", "1"),
        ("kafka.serializer.StringDecoder", b"x", "x"),
        ("org.apache.kafka.tools.api.DefaultDecoder", b"\x00\xab", "00ab"),
        ("org.apache.kafka.common.serialization.BooleanDeserializer", b"\1", "true"),
        ("org.apache.kafka.common.serialization.DoubleDeserializer", b"?\xf8" + bytes(6), "1.5"),
    ],
)
def test_plain_types_are_decoded_by_the_name_of_their_class(name: str, raw: bytes, text: str) -> None:
    assert text_of(named_decoder(name)(raw)) == text


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("com.example.Decoder", b""),
        ("org.apache.kafka.tools.api.LongDecoder", b"\0"),
        ("org.apache.kafka.common.serialization.IntegerDeserializer", bytes(5)),
        ("org.apache.kafka.common.serialization.UUIDDeserializer", b"nonsense"),
    ],
)
def test_what_cannot_be_decoded_is_unreadable(name: str, raw: bytes) -> None:
    with pytest.raises(Unreadable):
        named_decoder(name)(raw)


def test_missing_keys_and_values_are_not_decoded() -> None:
    assert UserDecoder().decode(_record(None, None)) == Decoded(None, None)


def test_unknown_types_and_damaged_records_are_shown_instead_of_the_key() -> None:
    unknown = transaction_decoder().decode(_record(b"\x00\x63", b""))
    assert unknown == Decoded("Unknown record type 99 at offset 7, skipping.", None)
    damaged = transaction_decoder().decode(_record(b"\x00\x00\x00\x09", b""))
    assert str(damaged.key).startswith("Error at offset 7, skipping. ")


def test_a_tombstone_is_a_deletion() -> None:
    decoded = OffsetsDecoder().decode(_record(b"\x00\x02\x00\x01g", None))
    assert decoded == Decoded({"type": "2", "data": {"group": "g"}}, None, is_deletion=True)


def test_a_key_is_needed_in_a_coordinators_topic() -> None:
    with pytest.raises(Unreadable, match=r"offset 7 .*missing key"):
        OffsetsDecoder().decode(_record(None, b""))


def test_metadata_records_that_are_not_known_are_reported() -> None:
    assert "Unknown metadata id 126" in str(
        ClusterMetadataDecoder().decode(_record(None, b"\x01\x7e\x00")).value
    )
    assert "frame version 9" in str(ClusterMetadataDecoder().decode(_record(None, b"\x09")).value)
    assert str(ClusterMetadataDecoder().decode(_record(None, None)).value).startswith("Error at 7, skipping.")
