"""One connection to one broker: a request is sent and its answer awaited, in turn.

The versions a broker serves are asked first thing (ApiVersions), as every client does; until that is
answered nobody knows that a broker is there at all, so it must come within the time for connecting. A
connection that failed in any way is of no further use: `is_open` tells, and the cluster opens another.
"""

import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode
from kio.serial.errors import SerialError

from barnabas import __version__
from barnabas.client.address import Address
from barnabas.client.codec import Versions, api_key, decode_response, encode_request, known_versions
from barnabas.client.errors import TimedOut, Unreachable, Unsupported, check

_LENGTH = struct.Struct(">i")
_LARGEST_ANSWER = 1 << 30
_LARGEST_GREETING = 1 << 20
"""What a port of something else says is a huge number when it is read as a length."""


class Connection:
    def __init__(self, address: Address, *, client_id: str, connect_timeout: float, timeout: float) -> None:
        """Raises Unreachable, with the reason in the system's words."""
        self.address: Address = address
        self._client_id: str = client_id
        self._last_id: int = 0
        self._timeout: float = timeout
        try:
            self._socket: socket.socket = socket.create_connection(address, connect_timeout)
        except TimeoutError:
            raise Unreachable(f"{address} did not take the connection within {connect_timeout:g} s") from None
        except OSError as error:
            raise Unreachable(f"{address}: {(error.strerror or str(error)).lower()}") from error
        self.is_open: bool = True
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.served: dict[int, Versions] = self._greet(min(connect_timeout, timeout))

    def version_of(self, api: str, max_version: int | None = None) -> int:
        """The newest version both sides know. Raises Unsupported."""
        ours, theirs = known_versions(api), self.served.get(api_key(api))
        name = api.upper()
        if theirs is None:
            raise Unsupported(f"The broker does not support {name}")
        highest = min(ours.highest, theirs.highest)
        if max_version is not None:
            highest = min(highest, max_version)
        if highest < max(ours.lowest, theirs.lowest):
            served = f"{theirs.lowest} to {theirs.highest}"
            raise Unsupported(f"The broker serves {name} in versions {served}, none of which this tool knows")
        return highest

    def ask(self, api: str, fields: Mapping[str, object], max_version: int | None = None) -> Any:
        version = self.version_of(api, max_version)
        answer = self._exchange(api, version, fields, self._timeout, _LARGEST_ANSWER)
        return self._decode(api, version, answer, max_version)

    def close(self) -> None:
        self.is_open = False
        self._socket.close()

    def _greet(self, timeout: float) -> dict[int, Versions]:
        try:
            answer = self._ask_versions(timeout)
        except TimedOut:
            raise Unreachable(
                f"{self.address} took the connection and said nothing for {timeout:g} s"
            ) from None
        check(answer.error_code)
        return {each.api_key: Versions(each.min_version, each.max_version) for each in answer.api_keys}

    def _ask_versions(self, timeout: float, version: int = 3) -> Any:
        fields = {"client_software_name": "barnabas", "client_software_version": __version__}
        raw = self._exchange("api_versions", version, fields, timeout, _LARGEST_GREETING)
        answer = self._decode("api_versions", version, raw, None)
        if answer.error_code == ErrorCode.unsupported_version and version > 0:
            return self._ask_versions(timeout, 0)  # what a broker older than 2.4 wants to be asked
        return answer

    def _exchange(
        self, api: str, version: int, fields: Mapping[str, object], timeout: float, largest: int
    ) -> bytes:
        self._last_id += 1
        frame = encode_request(api, version, self._last_id, self._client_id, fields)
        deadline = time.monotonic() + timeout
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(_LENGTH.pack(len(frame)) + frame)
            return self._receive(deadline, largest)
        except TimeoutError:
            self.close()
            raise TimedOut(f"{self.address} did not answer {api.upper()} in {timeout:g} s") from None
        except OSError as error:
            self.close()
            raise Unreachable(f"{self.address}: {(error.strerror or str(error)).lower()}") from error

    def _receive(self, deadline: float, largest: int) -> bytes:
        (size,) = _LENGTH.unpack(self._exactly(4, deadline))
        if not 4 <= size <= largest:
            raise self._no_broker()
        return self._exactly(size, deadline)

    def _exactly(self, size: int, deadline: float) -> bytes:
        """Raises TimeoutError also when bytes drip in, but not all of them before the deadline."""
        parts = bytearray()
        while len(parts) < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            part = self._socket.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise ConnectionError("the connection was closed before the answer")
            parts += part
        return bytes(parts)

    def _decode(self, api: str, version: int, answer: bytes, shape: int | None) -> Any:
        if _LENGTH.unpack_from(answer)[0] != self._last_id:
            raise self._no_broker()
        if api == "api_versions" and version > 0 and _code_of(answer) == ErrorCode.unsupported_version:
            version = 0  # the one answer that may come in another version than was asked
        try:
            return decode_response(api, version, answer, shape)
        except (SerialError, ValueError, KeyError, struct.error) as error:
            self.close()
            raise Unreachable(
                f"{self.address} answered {api.upper()} with bytes that are no such answer"
            ) from error

    def _no_broker(self) -> Unreachable:
        self.close()
        return Unreachable(f"{self.address} does not speak the Kafka protocol (is it a plaintext listener?)")


def _code_of(answer: bytes) -> int:
    return int.from_bytes(answer[4:6], "big", signed=True)
