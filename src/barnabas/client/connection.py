"""A connection to a broker: `request` sends a request and waits for its response.

The first request is ApiVersions. Its response must arrive within the connection timeout: only then it is
known that the peer is a broker. A connection that failed is closed (`is_open`), and the cluster opens
another.

Callers that transfer records send several requests ahead (`send`) and read the responses in the same order
(`receive`), with their own encoding of the bodies. `request` must not be called while responses are awaited.
"""

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode
from kio.serial.errors import SerialError

from barnabas import __version__
from barnabas.base.errors import KafkaError
from barnabas.client.address import Address
from barnabas.client.errors import BadValue, TimedOut, Unreachable, Unsupported, check
from barnabas.client.outgoing import send_parts
from barnabas.wire.header import skip_tags
from barnabas.wire.message_codec import (
    Unencodable,
    Versions,
    api_key,
    decode_response,
    encode_request,
    known_versions,
)
from barnabas.wire.outgoing_request import OutgoingRequest, frame_head

_LENGTH = struct.Struct(">i")
_LARGEST_ANSWER = 1 << 30
_LARGEST_VERSIONS_ANSWER = 1 << 20
"""The data of another protocol, read as a length, is a huge number."""


_ARRIVED_WITHIN = 1.0
"""For the rest of an answer whose first bytes are there, in seconds."""


class _Awaited(NamedTuple):
    request: OutgoingRequest
    id: int
    deadline: float


def arrived(connections: Sequence["Connection"], timeout: float) -> list["Connection"]:
    """The connections with data to receive. Waits up to `timeout` seconds for the first."""
    by_number = {each.fileno(): each for each in connections}
    poll = select.poll()  # select() supports no descriptor above 1023
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(timeout * 1000)]


def _new_buffer(size: int) -> memoryview:
    return memoryview(bytearray(size))


class Connection:
    def __init__(
        self,
        address: Address,
        *,
        client_id: str,
        connect_timeout: float,
        timeout: float,
        receive_buffer: int | None = None,
    ) -> None:
        """Raises Unreachable with the reason of the operating system."""
        self.address: Address = address
        self._client_id: str = client_id
        self._last_id: int = 0
        self._timeout: float = timeout
        self._awaited: deque[_Awaited] = deque()
        try:
            self._socket: socket.socket = socket.create_connection(address, connect_timeout)
        except TimeoutError:
            raise Unreachable(
                f"{address} did not accept the connection within {connect_timeout:g} s"
            ) from None
        except OSError as error:
            raise Unreachable(f"{address}: {(error.strerror or str(error)).lower()}") from error
        self.is_open: bool = True
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.served: dict[int, Versions] = self._negotiate_versions(min(connect_timeout, timeout))

    def version_of(self, api: str, max_version: int | None = None) -> int:
        """The newest version that both sides support. Raises Unsupported."""
        ours, theirs = known_versions(api), self.served.get(api_key(api))
        name = api.upper()
        if theirs is None:
            raise Unsupported(f"The broker does not support {name}")
        highest = min(ours.highest, theirs.highest)
        if max_version is not None:
            highest = min(highest, max_version)
        if highest < max(ours.lowest, theirs.lowest):
            served = f"{theirs.lowest} to {theirs.highest}"
            raise Unsupported(
                f"The broker serves {name} in versions {served}, none of which this tool supports"
            )
        return highest

    def common_version(self, api: str, oldest: int, newest: int) -> int:
        """The newest version from `oldest` to `newest` that the broker serves. Raises Unsupported."""
        served = self.served.get(api_key(api))
        if served is None or served.lowest > newest or served.highest < oldest:
            raise Unsupported(
                f"{self.address} serves no version of {api.upper()} between {oldest} and {newest}"
            )
        return min(newest, served.highest)

    def request(self, api: str, fields: Mapping[str, object], max_version: int | None = None) -> Any:
        version = self.version_of(api, max_version)
        answer = self._exchange(api, version, fields, self._timeout, _LARGEST_ANSWER)
        return self._decode(api, version, answer, max_version)

    def close(self) -> None:
        self.is_open = False
        self._socket.close()

    # --- several requests at a time --------------------------------------------------------------------

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def awaited(self) -> int:
        """The number of outstanding responses."""
        return len(self._awaited)

    def is_overdue(self, now: float) -> bool:
        """Whether the deadline of the oldest response has passed, by the monotonic clock."""
        return bool(self._awaited) and now > self._awaited[0].deadline

    @property
    def is_idle(self) -> bool:
        """Open, no response outstanding, and not closed by the broker, which closes idle connections."""
        return self.is_open and not self._awaited and not self.has_arrived(0.0)

    def has_arrived(self, timeout: float) -> bool:
        """Whether there is data to receive, or the broker closed the connection."""
        return bool(arrived([self], timeout))

    def send(self, request: OutgoingRequest, *, is_answered: bool = True) -> None:
        """Sends without waiting. Raises TimedOut if the broker does not read in time, and Unreachable."""
        self._last_id += 1
        head = frame_head(request, self._last_id, self._client_id)
        deadline = time.monotonic() + self._timeout
        try:
            send_parts(self._socket, [head, *request.parts], deadline)
        except OSError as error:
            raise self._failed(request.api, error) from error
        if is_answered:
            self._awaited.append(_Awaited(request, self._last_id, deadline))

    def receive(self, new_buffer: Callable[[int], memoryview] = _new_buffer) -> memoryview:
        """The body of the oldest outstanding response, in a buffer of `new_buffer(size)`.

        Raises TimedOut and Unreachable. The connection is closed then, and other responses are lost.
        """
        request, identity, deadline = self._awaited.popleft()
        if self.has_arrived(0.0):
            # It came in time, or not much later, and the caller is late.
            deadline = max(deadline, time.monotonic() + _ARRIVED_WITHIN)
        try:
            (size,) = _LENGTH.unpack(self._exactly(4, deadline))
            if not 4 <= size <= _LARGEST_ANSWER:
                raise self._no_broker()
            answer = new_buffer(size)[:size]
            self._fill(answer, deadline)
        except OSError as error:
            raise self._failed(request.api, error) from error
        if _LENGTH.unpack_from(answer)[0] != identity:
            raise self._no_broker()
        try:
            return answer[skip_tags(answer, 4) if request.is_flexible else 4 :]
        except KafkaError as error:
            raise self.refused(request.api) from error

    def refused(self, api: str) -> Unreachable:
        """The error for a response that cannot be decoded. Closes the connection."""
        self.close()
        return Unreachable(f"{self.address} answered {api.upper()} with bytes that are not a valid response")

    def _failed(self, api: str, error: OSError) -> TimedOut | Unreachable:
        self.close()
        if isinstance(error, TimeoutError):
            return TimedOut(f"{self.address} did not answer {api.upper()} in {self._timeout:g} s")
        return Unreachable(f"{self.address}: {(error.strerror or str(error)).lower()}")

    def _fill(self, buffer: memoryview, deadline: float) -> None:
        received = 0
        while received < len(buffer):
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            count = self._socket.recv_into(buffer[received:])
            if not count:
                raise ConnectionError("the connection was closed before the response")
            received += count

    # --- inside ----------------------------------------------------------------------------------------

    def _negotiate_versions(self, timeout: float) -> dict[int, Versions]:
        try:
            answer = self._request_versions(timeout)
        except TimedOut:
            raise Unreachable(
                f"{self.address} accepted the connection and did not respond for {timeout:g} s"
            ) from None
        check(answer.error_code)
        return {each.api_key: Versions(each.min_version, each.max_version) for each in answer.api_keys}

    def _request_versions(self, timeout: float, version: int = 3) -> Any:
        fields = {"client_software_name": "barnabas", "client_software_version": __version__}
        raw = self._exchange("api_versions", version, fields, timeout, _LARGEST_VERSIONS_ANSWER)
        answer = self._decode("api_versions", version, raw, None)
        if answer.error_code == ErrorCode.unsupported_version and version > 0:
            return self._request_versions(timeout, 0)  # for brokers older than 2.4
        return answer

    def _exchange(
        self, api: str, version: int, fields: Mapping[str, object], timeout: float, largest: int
    ) -> bytes:
        if self._awaited:
            raise RuntimeError(f"{self.address}: answers to earlier requests are awaited on this connection")
        self._last_id += 1
        try:
            frame = encode_request(api, version, self._last_id, self._client_id, fields)
        except Unencodable as error:
            raise BadValue(str(error)) from None
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
        """Raises TimeoutError if not all bytes arrive before the deadline."""
        parts = bytearray()
        while len(parts) < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            part = self._socket.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise ConnectionError("the connection was closed before the response")
            parts += part
        return bytes(parts)

    def _decode(self, api: str, version: int, answer: bytes, shape: int | None) -> Any:
        if _LENGTH.unpack_from(answer)[0] != self._last_id:
            raise self._no_broker()
        if api == "api_versions" and version > 0 and _code_of(answer) == ErrorCode.unsupported_version:
            version = 0  # the only response whose version may differ from the request
        try:
            return decode_response(api, version, answer, shape)
        except (SerialError, ValueError, KeyError, struct.error) as error:
            raise self.refused(api) from error

    def _no_broker(self) -> Unreachable:
        self.close()
        return Unreachable(f"{self.address} does not speak the Kafka protocol (is it a plaintext listener?)")


def _code_of(answer: bytes) -> int:
    return int.from_bytes(answer[4:6], "big", signed=True)
