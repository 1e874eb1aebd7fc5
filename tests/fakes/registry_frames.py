"""Records as producers with a schema registry write them."""

import io
import json
from typing import Any

import fastavro
from google.protobuf import message_factory

from barnabas.spark.registry.client import Schema
from barnabas.spark.registry.protobuf import proto_file


def framed(number: int, content: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + content


def avro(number: int, text: str, value: object, named: list[str] | None = None) -> bytes:
    known: dict[str, Any] = {}
    for each in named or ():
        fastavro.parse_schema(json.loads(each), named_schemas=known)
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(text), named_schemas=known), value)
    return framed(number, stream.getvalue())


def protobuf(number: int, schema: Schema, value: dict[str, Any], path: tuple[int, ...] = (0,)) -> bytes:
    message = message_factory.GetMessageClass(proto_file(schema).message(path))(**value)
    numbers = [0] if path == (0,) else [len(path), *path]
    index = bytes(each * 2 for each in numbers)  # zigzag, all below 64
    return framed(number, index + message.SerializeToString())


def of_json(number: int, value: object) -> bytes:
    return framed(number, json.dumps(value).encode())
