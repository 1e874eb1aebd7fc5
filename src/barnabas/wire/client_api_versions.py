"""The client's side of ApiVersions, versions 0 and 3, by hand: the first request on every connection.

A broker that does not know version 3 answers in the form of version 0, with UNSUPPORTED_VERSION. The response
has a header without tags in every version.
"""

import struct
from typing import NamedTuple

from barnabas.wire.message_codec import Versions
from barnabas.wire.outgoing_request import OutgoingRequest
from barnabas.wire.primitives import compact_string
from barnabas.wire.response_reader import ResponseReader

API_KEY = 18
NEWEST, OLDEST = 3, 0
UNSUPPORTED_VERSION = 35
_ERROR, _RANGE = struct.Struct(">h"), struct.Struct(">hhh")


class ServedVersions(NamedTuple):
    error_code: int
    versions: dict[int, Versions]
    """The lowest and the highest version that the broker serves, by API key."""


def api_versions_request(version: int, software: str, software_version: str) -> OutgoingRequest:
    if version == OLDEST:
        return OutgoingRequest("api_versions", API_KEY, OLDEST, False, [])
    body = compact_string(software) + compact_string(software_version) + b"\x00"
    return OutgoingRequest("api_versions", API_KEY, NEWEST, True, [body])


def parse_api_versions(version: int, response: memoryview) -> ServedVersions:
    """Raises one of response_reader.MALFORMED if the bytes are not a response."""
    (error_code,) = _ERROR.unpack_from(response)
    reader = ResponseReader(response, is_flexible=version == NEWEST and error_code != UNSUPPORTED_VERSION)
    reader.position = _ERROR.size
    found = {}
    for _ in range(reader.count()):
        key, lowest, highest = reader.unpack(_RANGE)
        reader.tags()
        found[key] = Versions(lowest, highest)
    return ServedVersions(error_code, found)
