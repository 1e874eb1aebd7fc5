import json
from collections.abc import Iterator
from struct import pack

import pytest

from barnabas.base.errors import CorruptMessage
from barnabas.cli.dump.message import read_message, to_json
from barnabas.cli.dump.schema import Field, Schema, parse_fields
from barnabas.wire.message_fields import FieldReader

_PERSON = Schema(
    """
    name string
    age int16 1+
    nick string? 2+ #0 =null
    home {}? 2+
        street string
        ids []int32
    score int32 2+ #1 =-1
    """,
    newest=2,
    flexible=2,
)


def test_a_field_is_in_its_versions_only() -> None:
    assert read_message(_PERSON, 0, FieldReader(b"\x00\x02Jo")) == {"name": "Jo"}
    assert read_message(_PERSON, 1, FieldReader(b"\x00\x02Jo\x00\x07")) == {"name": "Jo", "age": 7}


def test_flexible_versions_have_compact_lengths_and_nullable_structures() -> None:
    raw = b"\x03Jo\x00\x07" + b"\x01" + b"\x03St" + b"\x02" + pack(">i", 5) + b"\x00" + b"\x00"
    assert read_message(_PERSON, 2, FieldReader(raw)) == {
        "name": "Jo", "age": 7, "home": {"street": "St", "ids": [5]},
    }  # fmt: skip
    assert read_message(_PERSON, 2, FieldReader(b"\x03Jo\x00\x07\xff\x00"))["home"] is None


def test_tagged_fields_stand_in_the_schemas_order_and_not_at_their_default() -> None:
    tags = b"\x03" + b"\x00\x03\x03Jo" + b"\x01\x04" + pack(">i", 3) + b"\x09\x01x"
    message = read_message(_PERSON, 2, FieldReader(b"\x03Jo\x00\x07\xff" + tags))
    assert list(message) == ["name", "age", "nick", "home", "score"]
    assert (message["nick"], message["score"]) == ("Jo", 3)
    default = b"\x01" + b"\x01\x04" + pack(">i", -1)
    assert "score" not in read_message(_PERSON, 2, FieldReader(b"\x03Jo\x00\x07\xff" + default))


@pytest.mark.parametrize(
    ("version", "raw"),
    [(0, b"\x00\x09Jo"), (0, b"\xff\xff"), (3, b""), (2, b"\x03Jo\x00\x07\x01\x03St\xff\xff\xff\xff\x0f")],
)
def test_bytes_that_are_no_such_message_are_corrupt(version: int, raw: bytes) -> None:
    with pytest.raises(CorruptMessage):
        read_message(_PERSON, version, FieldReader(raw))


def test_json_is_escaped_in_upper_case_and_still_json() -> None:
    text = '\x1f \\u001f \\\x0b "é'
    assert to_json(text) == '"\\u001F \\\\u001f \\\\\\u000B \\"é"'
    assert json.loads(to_json(text)) == text


def test_bytes_are_base_64() -> None:
    assert to_json({"raw": b"\x00\xff", "none": None, "yes": True}) == '{"raw":"AP8=","none":null,"yes":true}'


def test_schemas_of_internal_topics_can_all_be_read() -> None:
    from barnabas.cli.dump.schemas import (
        control_records,
        group_records,
        metadata_records,
        newer_group_records,
        share_state_records,
        transaction_records,
    )

    coordinators = [
        group_records.GROUP_RECORDS,
        newer_group_records.SHARE_GROUP_RECORDS,
        newer_group_records.STREAMS_GROUP_RECORDS,
        share_state_records.SHARE_STATE_RECORDS,
        transaction_records.TRANSACTION_RECORDS,
    ]
    schemas = [
        schema for records in coordinators for each in records.values() for schema in (each.key, each.value)
    ]
    schemas += [schema for _, schema in metadata_records.METADATA_RECORDS.values()]
    schemas += [schema for _, schema in control_records.CONTROL_RECORDS.values()]
    kinds = {field.kind for schema in schemas for field in _all_fields(schema.fields)}
    assert kinds == {
        "bool", "int8", "int16", "uint16", "int32", "int64", "float64", "string", "bytes", "uuid", "{}",
    }  # fmt: skip
    for schema in schemas:
        fields = list(_all_fields(schema.fields))
        assert all(bool(field.fields) == (field.kind == "{}") for field in fields)
        assert all(field.versions.first <= schema.newest for field in fields)


def _all_fields(fields: tuple[Field, ...]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _all_fields(field.fields)


def test_nested_fields_are_found_by_their_indent() -> None:
    fields = parse_fields("a []{}\n    b {}\n        c int8\n    d string?3+ 2-4\ne bool #7")
    assert [field.name for field in fields] == ["a", "e"]
    assert [field.name for field in fields[0].fields] == ["b", "d"]
    assert (2 in fields[0].fields[1].nullable, 5 in fields[0].fields[1].versions) == (False, False)
