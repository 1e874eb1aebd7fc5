"""Bytes to requests, replies to bytes. Knows no socket, no thread, no clock.

kio supplies the schema of every API and version; this room loads them lazily, so that a broker pays
only for what its clients use. Produce and Fetch, the hot ones, are read and written by hand here and
tested equal to kio.
"""

from barnabas.wire.reply import Reply
from barnabas.wire.schemas import encode_response, parse_request

__all__ = ["Reply", "encode_response", "parse_request"]
