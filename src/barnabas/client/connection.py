"""One connection to one broker: `ask` sends a request and awaits its answer, in turn.

The versions a broker serves are asked first thing (ApiVersions), as every client does; until that is
answered nobody knows that a broker is there at all, so it must come within the time for connecting. A
connection that failed in any way is of no further use: `is_open` tells, and the cluster opens another.

Whoever moves records sends several requests ahead (`send`) and takes the answers in the order of the
requests (`receive`), with bodies of its own encoding. While answers are awaited, nobody may `ask`.
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
from barnabas.client.codec import Versions, api_key, decode_response, encode_request, known_versions
from barnabas.client.errors import TimedOut, Unreachable, Unsupported, check
from barnabas.client.outgoing import Buffer, send_parts
from barnabas.wire.header import skip_tags
from barnabas.wire.primitives import legacy_string

_HEADER = struct.Struct(">hhi")
_LENGTH = struct.Struct(">i")
_LARGEST_ANSWER = 1 << 30
_LARGEST_GREETING = 1 << 20
"""What a port of something else says is a huge number when it is read as a length."""


class RawRequest(NamedTuple):
    """A request whose body is encoded already, in parts that are sent one after another."""

    api: str
    """Named as kio names it, for messages."""
    key: int
    version: int
    is_flexible: bool
    parts: Sequence[Buffer]


class _Awaited(NamedTuple):
    request: RawRequest
    id: int
    deadline: float


def arrived(connections: Sequence["Connection"], timeout: float) -> list["Connection"]:
    """Those that have something to receive; waits for the first of them, for so long."""
    by_number = {each.fileno(): each for each in connections}
    poll = select.poll()  # select() knows no descriptor above 1023
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
        """Raises Unreachable, with the reason in the system's words."""
        self.address: Address = address
        self._client_id: str = client_id
        self._last_id: int = 0
        self._timeout: float = timeout
        self._awaited: deque[_Awaited] = deque()
        try:
            self._socket: socket.socket = socket.create_connection(address, connect_timeout)
        except TimeoutError:
            raise Unreachable(f"{address} did not take the connection within {connect_timeout:g} s") from None
        except OSError as error:
            raise Unreachable(f"{address}: {(error.strerror or str(error)).lower()}") from error
        self.is_open: bool = True
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
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

    # --- several requests at a time --------------------------------------------------------------------

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def awaited(self) -> int:
        """How many answers are to come."""
        return len(self._awaited)

    def is_overdue(self, now: float) -> bool:
        """Whether the oldest answer should be here by now, by the monotonic clock."""
        return bool(self._awaited) and now > self._awaited[0].deadline

    @property
    def is_idle(self) -> bool:
        """Open, nothing awaited, and the broker has not hung up meanwhile, as it does after ten minutes."""
        return self.is_open and not self._awaited and not self.has_arrived(0.0)

    def has_arrived(self, timeout: float) -> bool:
        """Whether there is something to receive, be it the news that the broker hung up."""
        return bool(arrived([self], timeout))

    def send(self, request: RawRequest, *, is_answered: bool = True) -> None:
        """Send ahead; raises TimedOut where the broker takes too long to read it, and Unreachable."""
        self._last_id += 1
        client = legacy_string(self._client_id) + (b"\x00" if request.is_flexible else b"")
        head = _HEADER.pack(request.key, request.version, self._last_id) + client
        size = len(head) + sum(map(len, request.parts))
        deadline = time.monotonic() + self._timeout
        try:
            send_parts(self._socket, [_LENGTH.pack(size) + head, *request.parts], deadline)
        except OSError as error:
            raise self._failed(request.api, error) from error
        if is_answered:
            self._awaited.append(_Awaited(request, self._last_id, deadline))

    def receive(self, new_buffer: Callable[[int], memoryview] = _new_buffer) -> memoryview:
        """The body of the answer to the oldest request that awaits one, in a buffer of `new_buffer(size)`.

        Raises TimedOut and Unreachable; the connection is closed then, and no other answer will come.
        """
        request, identity, deadline = self._awaited.popleft()
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
        """The error for an answer that cannot be read; the connection is closed."""
        self.close()
        return Unreachable(f"{self.address} answered {api.upper()} with bytes that are no such answer")

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
                raise ConnectionError("the connection was closed before the answer")
            received += count

    # --- inside ----------------------------------------------------------------------------------------

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
        if self._awaited:
            raise RuntimeError(f"{self.address}: answers to earlier requests are awaited on this connection")
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
            raise self.refused(api) from error

    def _no_broker(self) -> Unreachable:
        self.close()
        return Unreachable(f"{self.address} does not speak the Kafka protocol (is it a plaintext listener?)")


def _code_of(answer: bytes) -> int:
    return int.from_bytes(answer[4:6], "big", signed=True)
