"""Envelope (58): a request of a client, unchanged, on its way from the broker that got it to the controller.

The embedded request and response have their own headers, with the client's version, correlation id and client
id (KIP-590). The error code of the envelope is about the way: NOT_CONTROLLER means that the request was not
carried out and should be sent to another broker.
"""

import ipaddress

from barnabas.base.errors import ErrorCode
from barnabas.base.principal import Principal
from barnabas.wire.message_codec import decode_body, message_request
from barnabas.wire.outgoing_request import RequestBuilder


def envelope_request(frame: bytes, principal: Principal, host: str) -> RequestBuilder:
    """`frame` is the request with its header. `principal` and `host` are those of the client."""
    fields = {
        "request_data": frame,
        "request_principal": str(principal).encode(),
        "client_host_address": _address(host),
    }
    return message_request("envelope", fields)._replace(is_advertised=False)


def parse_envelope(version: int, body: memoryview) -> tuple[ErrorCode, bytes]:
    """The error of the envelope, and the response with its header. Raises InvalidRequest if malformed."""
    response = decode_body("envelope", version, body)
    return ErrorCode(response.error_code), response.response_data or b""


def _address(host: str) -> bytes:
    try:
        return ipaddress.ip_address(host).packed
    except ValueError:
        return b""  # A client on the other end of something that has no address.
