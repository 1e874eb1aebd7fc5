"""Records of the three formats, through the decoding that Spark's workers do, without Spark."""

import datetime as dt
import json
import pickle
import uuid
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import DataType, StringType, StructType
from tests.fakes import registry_frames as frames
from tests.fakes.schema_registry import SchemaRegistry

from barnabas.spark.registry import client
from barnabas.spark.registry.client import Access, Schema
from barnabas.spark.registry.column import column_type
from barnabas.spark.registry.decoding import Decoding
from barnabas.spark.registry.errors import RegistryUnavailable, UnsupportedSchema

ORDER_1 = json.dumps(
    {
        "type": "record",
        "name": "shop.Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "who", "type": ["null", "string"]}],
    }
)
ORDER_2 = json.dumps(
    {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": "string", "default": "none"},
        ],
    }
)
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
PROTO = """
syntax = "proto3";
package shop;
import "money.proto";
import "google/protobuf/timestamp.proto";
enum State { NEW = 0; PAID = 1; }
message Other { string x = 1; }
message Order {
  message Line { string sku = 1; uint64 count = 2; }
  int64 id = 1;
  Money price = 2;
  repeated Line lines = 3;
  map<string, int32> tags = 4;
  State state = 5;
  optional string note = 6;
  bytes raw = 7;
  google.protobuf.Timestamp at = 8;
}
"""
JSON_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "who": {"type": ["string", "null"]},
            "price": {"$ref": "money.json"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "any": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["id"],
    }
)


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with SchemaRegistry() as found:
        yield found


def decoded(
    registry: SchemaRegistry, records: Sequence[bytes | None], **options: Any
) -> list[tuple[Any, Any]]:
    """Value and error of each record."""
    access = Access.of(registry.url, {}, None, None, 5.0)
    reader: Schema | None = None
    kind: DataType | None = options.get("kind")
    if "subject" in options:
        reader = client.client_for(access).by_subject(options["subject"], options.get("version", "latest"))
        kind = column_type(reader, options.get("message"))
    decoding: Decoding = pickle.loads(pickle.dumps(Decoding(access, reader, kind)))
    found = decoding.decode(pa.array(records, pa.binary()))
    return [(each["value"], each["error"]) for each in found.to_pylist()]


# --- Avro -----------------------------------------------------------------------------------------------


def test_avro_is_resolved_to_the_latest_schema_of_the_subject(registry: SchemaRegistry) -> None:
    first = registry.register("order", "AVRO", ORDER_1)
    second = registry.register("order", "AVRO", ORDER_2)
    records = [
        frames.avro(first, ORDER_1, {"id": 1, "who": "anna"}),
        frames.avro(second, ORDER_2, {"id": 2, "note": "soon"}),
        None,
    ]
    assert decoded(registry, records, subject="order") == [
        ({"id": 1, "note": "none"}, None),
        ({"id": 2, "note": "soon"}, None),
        (None, None),
    ]
    old = decoded(registry, records[:1], subject="order", version=1)
    assert old == [({"id": 1, "who": "anna"}, None)]
    assert decoded(registry, records[:1]) == [('{"id": 1, "who": "anna"}', None)]


def test_avro_types_become_those_of_spark(registry: SchemaRegistry) -> None:
    fields = {
        "flag": "boolean",
        "real": "double",
        "raw": "bytes",
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        "day": {"type": "int", "logicalType": "date"},
        "at": {"type": "long", "logicalType": "timestamp-millis"},
        "time": {"type": "long", "logicalType": "time-micros"},
        "ident": {"type": "string", "logicalType": "uuid"},
        "color": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]},
        "other": "Color",
        "list": {"type": "array", "items": ["null", "int"]},
        "map": {"type": "map", "values": {"type": "record", "name": "In", "fields": []}},
        "either": ["null", "int", "string"],
        "hash": {"type": "fixed", "name": "Hash", "size": 2},
    }
    text = json.dumps(
        {"type": "record", "name": "All", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    )
    value = {
        "flag": True,
        "real": 0.5,
        "raw": b"\xff",
        "price": Decimal("12.34"),
        "day": dt.date(2026, 1, 2),
        "at": dt.datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=dt.UTC),
        "time": dt.time(1, 0, 0, 5),
        "ident": uuid.UUID(int=5),
        "color": "RED",
        "other": "BLUE",
        "list": [1, None],
        "map": {"k": {}},
        "either": 7,
        "hash": b"ab",
    }
    number = registry.register("all", "AVRO", text)
    ((found, error),) = decoded(registry, [frames.avro(number, text, value)], subject="all")
    assert error is None
    assert found == {
        **value,
        "time": 3_600_000_005,
        "ident": str(uuid.UUID(int=5)),
        "map": [("k", {})],
        "either": "7",
    }
    ((as_text, _),) = decoded(registry, [frames.avro(number, text, value)])
    assert json.loads(as_text)["price"] == "12.34"


def test_avro_schemas_refer_to_others(registry: SchemaRegistry) -> None:
    inner = '{"type":"record","name":"shop.Money","fields":[{"name":"cents","type":"long"}]}'
    outer = '{"type":"record","name":"shop.Bill","fields":[{"name":"sum","type":"shop.Money"}]}'
    registry.register("money", "AVRO", inner)
    number = registry.register(
        "bill", "AVRO", outer, [{"name": "shop.Money", "subject": "money", "version": 1}]
    )
    record = frames.avro(number, outer, {"sum": {"cents": 5}}, [inner])
    assert decoded(registry, [record], subject="bill") == [({"sum": {"cents": 5}}, None)]


def test_avro_that_is_damaged_is_an_error_of_its_record(registry: SchemaRegistry) -> None:
    number = registry.register("order", "AVRO", ORDER_1)
    good = frames.avro(number, ORDER_1, {"id": 1, "who": None})
    records = [good[:-1], good + b"x", frames.framed(number, b"\xff" * 12), b"{}", b"\0\0\0\0\x63a", good]
    found = decoded(registry, records, subject="order")
    assert [value for value, _ in found] == [None] * 5 + [{"id": 1, "who": None}]
    reasons = ["no Avro", "1 bytes are left", "no Avro", "2 bytes are too few", "no schema of the id 99"]
    for (_, error), reason in zip(found, reasons, strict=False):
        assert reason in error
    assert found[-1][1] is None


def test_avro_that_contains_itself_is_text_only(registry: SchemaRegistry) -> None:
    text = '{"type":"record","name":"Node","fields":[{"name":"next","type":["null","Node"]}]}'
    number = registry.register("node", "AVRO", text)
    record = frames.avro(number, text, {"next": {"next": None}})
    with pytest.raises(UnsupportedSchema, match="Node contains itself"):
        decoded(registry, [record], subject="node")
    assert decoded(registry, [record]) == [('{"next": {"next": null}}', None)]


# --- Protobuf -------------------------------------------------------------------------------------------


def _protobuf(registry: SchemaRegistry, text: str = PROTO) -> tuple[int, Schema]:
    registry.register("money.proto", "PROTOBUF", MONEY)
    number = registry.register(
        "order", "PROTOBUF", text, [{"name": "money.proto", "subject": "money.proto", "version": 1}]
    )
    return number, Schema("PROTOBUF", text, (("money.proto", MONEY),))


def test_protobuf_of_a_nested_message_and_an_import(registry: SchemaRegistry) -> None:
    number, schema = _protobuf(registry)
    order = frames.protobuf(
        number,
        schema,
        {
            "id": 7,
            "price": {"cents": 250},
            "lines": [{"sku": "a", "count": 2**64 - 1}],
            "tags": {"x": 1},
            "state": 1,
            "raw": b"\xfe",
            "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        },
        (1,),
    )
    empty = frames.protobuf(number, schema, {}, (1,))
    found = decoded(registry, [order, empty], subject="order", message="shop.Order")
    assert found[0] == (
        {
            "id": 7,
            "price": {"cents": 250},
            "lines": [{"sku": "a", "count": Decimal(2**64 - 1)}],
            "tags": [("x", 1)],
            "state": "PAID",
            "note": None,
            "raw": b"\xfe",
            "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        },
        None,
    )
    assert found[1][0]["price"] is None
    assert (found[1][0]["id"], found[1][0]["state"], found[1][0]["lines"]) == (0, "NEW", [])
    ((text, _),) = decoded(registry, [order])
    assert json.loads(text)["price"] == {"cents": "250"}
    line = frames.protobuf(number, schema, {"sku": "b"}, (1, 0))
    assert decoded(registry, [line]) == [('{"sku": "b"}', None)]


def test_protobuf_fields_are_matched_by_their_numbers(registry: SchemaRegistry) -> None:
    old = 'syntax = "proto3"; message A { int64 id = 1; string gone = 2; }'
    new = 'syntax = "proto3"; message A { int64 number = 1; string added = 3; }'
    first = registry.register("a", "PROTOBUF", old)
    registry.register("a", "PROTOBUF", new)
    record = frames.protobuf(first, Schema("PROTOBUF", old), {"id": 4, "gone": "x"})
    assert decoded(registry, [record], subject="a") == [({"number": 4, "added": ""}, None)]


def test_protobuf_that_is_damaged_is_an_error_of_its_record(registry: SchemaRegistry) -> None:
    number, schema = _protobuf(registry)
    broken = registry.register("broken", "PROTOBUF", 'syntax = "proto3"; message A { nothing }')
    good = frames.protobuf(number, schema, {"x": "1"})
    records = [
        frames.framed(number, b"\0\xff\xff"),
        frames.framed(number, b"\x02\x10"),
        frames.framed(number, b""),
        frames.framed(broken, b"\0"),
        good,
    ]
    found = decoded(registry, records)
    reasons = ["no Protobuf of shop.Other", "no message at [8]", "index is cut off", "no Protobuf schema"]
    for (value, error), reason in zip(found, reasons, strict=False):
        assert value is None
        assert reason in error
    assert found[-1] == ('{"x": "1"}', None)


# --- JSON Schema ----------------------------------------------------------------------------------------


def test_json_is_checked_against_its_schema(registry: SchemaRegistry) -> None:
    registry.register(
        "money", "JSON", '{"type": "object", "properties": {"cents": {"type": "integer", "minimum": 0}}}'
    )
    number = registry.register(
        "order", "JSON", JSON_SCHEMA, [{"name": "money.json", "subject": "money", "version": 1}]
    )
    records = [
        frames.of_json(number, {"id": 1, "price": {"cents": 5}, "tags": ["a"], "any": 7, "extra": 1}),
        frames.of_json(number, {"who": "anna"}),
        frames.of_json(number, {"id": 1, "price": {"cents": -5}}),
        frames.framed(number, b"{"),
    ]
    found = decoded(registry, records, subject="order")
    assert found[0] == (
        {"id": 1, "who": None, "price": {"cents": 5}, "tags": ["a"], "any": "7"},
        None,
    )
    assert found[1] == (None, "not valid against its schema: $: 'id' is a required property")
    assert "$.price.cents: -5 is less than the minimum of 0" in found[2][1]
    assert "no JSON" in found[3][1]


def test_json_schema_that_contains_itself_is_text_where_it_does(registry: SchemaRegistry) -> None:
    text = json.dumps(
        {
            "$ref": "#/definitions/node",
            "definitions": {
                "node": {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}}}
            },
        }
    )
    number = registry.register("node", "JSON", text)
    record = frames.of_json(number, {"next": {"next": {}}})
    assert decoded(registry, [record], subject="node") == [({"next": '{"next": {}}'}, None)]


# --- all ------------------------------------------------------------------------------------------------


def test_a_type_that_is_given_takes_fields_by_name(registry: SchemaRegistry) -> None:
    number = registry.register("order", "AVRO", ORDER_1)
    text = '{"type":"record","name":"W","fields":[{"name":"id","type":"string"}]}'
    words = registry.register("words", "AVRO", text)
    kind = StructType().add("id", "long").add("missing", "string")
    records = [
        frames.avro(number, ORDER_1, {"id": 1, "who": "anna"}),
        frames.avro(words, text, {"id": "one"}),
    ]
    found = decoded(registry, records, kind=kind)
    assert found[0] == ({"id": 1, "missing": None}, None)
    assert found[1][0] is None
    assert "does not fit the column's type" in found[1][1]


def test_a_record_of_another_format_than_the_readers_is_an_error(registry: SchemaRegistry) -> None:
    registry.register("order", "AVRO", ORDER_1)
    number = registry.register("order-json", "JSON", "{}")
    found = decoded(registry, [frames.of_json(number, {})], subject="order")
    assert found == [(None, f"schema {number}: the record is JSON, the reader's schema AVRO")]


def test_a_registry_that_is_away_is_no_error_of_a_record(
    registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_PAUSE", 0.0)
    registry.register("order", "AVRO", ORDER_1)
    registry.failures.extend([503] * 4)
    with pytest.raises(RegistryUnavailable):
        decoded(registry, [b"\0\0\0\0\1\2\0"])


def test_schemas_are_requested_once_in_a_process(registry: SchemaRegistry) -> None:
    number = registry.register("order", "AVRO", ORDER_1)
    record = frames.avro(number, ORDER_1, {"id": 1, "who": None})
    for _ in range(3):
        assert decoded(registry, [record] * 10, kind=StringType())[0][1] is None
    assert len(registry.requests) == 1
