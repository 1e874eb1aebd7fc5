"""The wire format: bytes to requests, replies to bytes. Uses no socket, no thread, no clock.

kio supplies the schema of every API and version. This package loads each schema at its first use, so that a
broker pays only for what its clients use. The most frequent messages are coded by hand here and tested equal
to kio: Produce, OffsetCommit, Heartbeat, and the responses of Fetch and Metadata.
"""

from barnabas.wire.reply import Reply
from barnabas.wire.schemas import encode_response, parse_request

__all__ = ["Reply", "encode_response", "parse_request"]
