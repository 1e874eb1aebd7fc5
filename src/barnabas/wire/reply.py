"""A response before it knows its version: a bag of attributes under kio's field names.

A handler fills the superset of all versions once; `wire.schemas.encode_response` picks what the
negotiated version has. An array may be any iterable, or the bytes of its elements. Fields left out take the
schema's default, a name no version has is an error.
"""

from types import SimpleNamespace
from typing import NamedTuple


class EncodedArray(NamedTuple):
    """Stands for an array of a reply whose elements are bytes already."""

    length: int
    chunks: list[bytes | bytearray]


class Reply(SimpleNamespace):
    """`Reply(error_code=..., topics=[Reply(...), ...])`"""
