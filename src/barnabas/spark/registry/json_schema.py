"""JSON Schema: payloads are JSON, checked against the schema of their writer.

Of the schema a column type is made as far as it names one: objects with properties, arrays, and the simple
types. What may be one of several things is JSON text.
"""

import json
from collections.abc import Callable
from typing import Any

from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import Draft7Validator, validator_for
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from barnabas.spark.registry.client import Schema
from barnabas.spark.registry.errors import BadRecord, UnsupportedSchema

_PLAIN: dict[str, DataType] = {
    "string": StringType(),
    "integer": LongType(),
    "number": DoubleType(),
    "boolean": BooleanType(),
}


def decoder(writer: Schema) -> Callable[[bytes], object]:
    """Raises UnsupportedSchema."""
    schema, registry = _parsed(writer)
    chosen = validator_for(schema, default=Draft7Validator)
    try:
        chosen.check_schema(schema)
    except SchemaError as error:
        raise UnsupportedSchema(f"no JSON Schema: {error.message}") from error
    validator = chosen(schema, registry=registry)

    def decode(content: bytes) -> object:
        try:
            value: object = json.loads(content)
        except ValueError as error:
            raise BadRecord(f"no JSON: {error}") from error
        try:
            wrong = best_match(validator.iter_errors(value))
        except Unresolvable as error:
            raise BadRecord(f"its schema refers to {error.ref}, which the registry does not name") from error
        if wrong is not None:
            raise BadRecord(f"not valid against its schema: {wrong.json_path}: {wrong.message}")
        return value

    return decode


def column_type(schema: Schema) -> DataType:
    """Raises UnsupportedSchema."""
    top, registry = _parsed(schema)
    whole = Resource.from_contents(top, default_specification=DRAFT7)
    base = whole.id() or ""
    try:
        return _type_of(top, registry.with_resource(base, whole).resolver(base), ())
    except Unresolvable as error:
        raise UnsupportedSchema(f"it refers to {error.ref}, which the registry does not name") from error


def _parsed(schema: Schema) -> tuple[Any, Any]:
    try:
        resources = [
            (name, Resource.from_contents(json.loads(text), default_specification=DRAFT7))
            for name, text in schema.references
        ]
        return json.loads(schema.text), Registry().with_resources(resources)
    except ValueError as error:
        raise UnsupportedSchema(f"no JSON Schema: {error}") from error


def _type_of(schema: Any, resolver: Any, within: tuple[str, ...]) -> DataType:
    """`within` are the references followed so far: a schema that contains itself is JSON text there."""
    if not isinstance(schema, dict) or schema.get("$ref") in within:
        return StringType()
    if "$ref" in schema:
        found = resolver.lookup(schema["$ref"])
        return _type_of(found.contents, found.resolver, (*within, schema["$ref"]))
    kind = schema.get("type")
    for word in ("oneOf", "anyOf"):
        if word in schema:
            real = [each for each in schema[word] if each != {"type": "null"}]
            return _type_of(real[0], resolver, within) if len(real) == 1 else StringType()
    if isinstance(kind, list):
        names = [each for each in kind if each != "null"]
        kind = names[0] if len(names) == 1 else None
    if kind == "object" and schema.get("properties"):
        return _object(schema["properties"], resolver, within)
    if kind == "array" and isinstance(schema.get("items"), dict):
        return ArrayType(_type_of(schema["items"], resolver, within))
    return _PLAIN.get(str(kind), StringType())


def _object(properties: dict[str, Any], resolver: Any, within: tuple[str, ...]) -> StructType:
    return StructType(
        [StructField(name, _type_of(each, resolver, within)) for name, each in properties.items()]
    )
