"""A response before it knows its version: a bag of attributes under kio's field names.

A handler fills the superset of all versions once; `wire.schemas.encode_response` picks what the
negotiated version has. Fields left out take the schema's default, a name no version has is an error.
"""

from types import SimpleNamespace


class Reply(SimpleNamespace):
    """`Reply(error_code=..., topics=[Reply(...), ...])`"""
