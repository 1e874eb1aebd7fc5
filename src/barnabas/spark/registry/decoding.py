"""What a task does to a batch of framed records: an Arrow array in, an Arrow array of values and errors out.

The libraries of a format are imported when its first record comes. PySpark reads the annotations of `decode`,
so Arrow is imported here. Only code that decodes imports this module.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StringType

from barnabas.spark.registry.client import AVRO, JSON, PROTOBUF, Access, Schema, client_for
from barnabas.spark.registry.errors import BadRecord, UnsupportedSchema
from barnabas.spark.registry.fitting import fit_for, json_text
from barnabas.spark.registry.framing import payload, schema_id

Decode = Callable[[bytes], object]


class Decoding:
    """What a task does to each batch of records. Pickled to Spark's workers; decoders are made there."""

    def __init__(self, access: Access, reader: Schema | None, kind: DataType | None) -> None:
        self._access: Access = access
        self._reader: Schema | None = reader
        self._kind: DataType | None = kind

    def decode(self, frames: pa.Array) -> pa.Array:
        """struct<value, error>. Raises RegistryUnavailable."""
        kind = self._kind or StringType()
        fit = json_text if self._kind is None else fit_for(kind)
        values, errors = self._decoded(frames.to_pylist(), fit)
        column = _arrow(values, errors, to_arrow_type(kind, timezone="UTC"))
        return pa.StructArray.from_arrays([column, pa.array(errors, pa.string())], ["value", "error"])

    def _decoded(
        self, frames: Iterable[bytes | None], fit: Callable[[Any], Any] | None
    ) -> tuple[list[object], list[str | None]]:
        values: list[object] = []
        errors: list[str | None] = []
        decoders: dict[int, Decode] = {}
        for frame in frames:
            value, error = None, None
            if frame is not None:
                try:
                    number = schema_id(frame)
                    if number not in decoders:
                        decoders[number] = self._decoder(number)
                    value = decoders[number](payload(frame))
                    value = value if fit is None else fit(value)
                except BadRecord as bad:
                    value, error = None, str(bad)
            values.append(value)
            errors.append(error)
        return values, errors

    def _decoder(self, number: int) -> Decode:
        """Raises BadRecord and RegistryUnavailable."""
        writer = client_for(self._access).by_id(number)
        key = self._access, writer, self._reader, self._kind is None
        if key not in _decoders:
            try:
                _decoders[key] = _made(writer, self._reader, as_json=self._kind is None)
            except UnsupportedSchema as error:
                raise BadRecord(f"schema {number}: {error}") from error
        return _decoders[key]


_decoders: dict[tuple[Access, Schema, Schema | None, bool], Decode] = {}
"""Of this process: parsing a schema costs more than a thousand records."""


def _made(writer: Schema, reader: Schema | None, *, as_json: bool) -> Decode:
    if reader is not None and reader.kind != writer.kind:
        raise UnsupportedSchema(f"the record is {writer.kind}, the reader's schema {reader.kind}")
    if writer.kind == AVRO:
        from barnabas.spark.registry import avro

        return avro.decoder(writer, reader)
    if writer.kind == PROTOBUF:
        from barnabas.spark.registry import protobuf

        return protobuf.decoder(writer, reader, as_json=as_json)
    if writer.kind == JSON:
        from barnabas.spark.registry import json_schema

        return json_schema.decoder(writer)
    raise UnsupportedSchema(f"a schema of the type {writer.kind} is neither {AVRO}, {PROTOBUF} nor {JSON}")


def _arrow(values: list[object], errors: list[str | None], kind: pa.DataType) -> pa.Array:
    """What does not fit the column's type becomes an error, too."""
    wrong = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError, TypeError, AttributeError)
    try:
        return pa.array(values, kind)
    except wrong:
        for index, value in enumerate(values):
            try:
                pa.array([value], kind)
            except wrong as error:
                values[index], errors[index] = None, f"does not fit the column's type: {error}"
    return pa.array(values, kind)
