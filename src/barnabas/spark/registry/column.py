"""`from_registry`: a column of framed records becomes a column of values and errors, decoded in Arrow.

The column is a struct of `value` and `error`; exactly one of the two is null, or both for a null record. So
a query keeps its good rows by `error is null` and sends the others to dead letters. Only a registry that
does not answer fails the task.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.spark.registry.client import AVRO, JSON, PROTOBUF, Access, Schema, client_for
from barnabas.spark.registry.errors import UnsupportedSchema

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def from_registry(
    column: "Column | str",
    url: str,
    *,
    subject: str | None = None,
    version: int | str = "latest",
    message: str | None = None,
    schema: "DataType | str | None" = None,
    auth: tuple[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    ca_file: str | None = None,
    timeout: float = 10.0,
) -> "Column":
    """struct<value, error> of a binary column, by the schema whose id each record carries.

    The type of `value` is that of the reader's schema: a version of `subject`, the latest unless another is
    given, to which records of other versions are resolved. For Protobuf, `message` names the message, where
    it is not the first. Or `schema` is the type, as DDL or a DataType, whose fields are taken by name.
    Without either, `value` is JSON text. Raises RegistryUnavailable and UnsupportedSchema, before the query
    runs.
    """
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import StringType, StructField, StructType

    from barnabas.spark.registry.decoding import Decoding

    access = Access.of(url, dict(headers or {}), auth, ca_file, timeout)
    reader = None if subject is None else client_for(access).by_subject(subject, version)
    kind = _given_type(schema)
    if kind is None and reader is not None:
        kind = column_type(reader, message)
    decoding = Decoding(access, reader, kind)
    fields = [StructField("value", kind or StringType()), StructField("error", StringType())]
    function = arrow_udf(decoding.decode, returnType=StructType(fields))  # type: ignore[call-overload]
    decoded: Column = function(column)
    return decoded


def _given_type(schema: "DataType | str | None") -> "DataType | None":
    if not isinstance(schema, str):
        return schema
    from pyspark.sql.types import DataType

    return DataType.fromDDL(schema)


def column_type(reader: Schema, message: str | None = None) -> "DataType":
    """The type of a column of the records of a schema. Raises UnsupportedSchema."""
    if reader.kind == AVRO:
        from barnabas.spark.registry import avro

        return avro.column_type(reader)
    if reader.kind == PROTOBUF:
        from barnabas.spark.registry import protobuf

        return protobuf.column_type(reader, message)
    if reader.kind == JSON:
        from barnabas.spark.registry import json_schema

        return json_schema.column_type(reader)
    raise UnsupportedSchema(f"a schema of the type {reader.kind} is neither {AVRO}, {PROTOBUF} nor {JSON}")
