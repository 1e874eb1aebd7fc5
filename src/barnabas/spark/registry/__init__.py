"""Records whose schema is in a schema registry that speaks Confluent's protocol: Avro, Protobuf, JSON Schema.

`column.from_registry` is the whole interface. `framing` takes a record apart, `client` queries the registry,
one module per format decodes payloads, and `fitting` makes Python values fit for the column's type. Needs
the extra `registry`.
"""

from barnabas.spark.registry.column import from_registry

__all__ = ["from_registry"]
