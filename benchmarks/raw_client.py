"""Generator (a): pre-encoded requests over raw sockets, so that the broker and not the client is measured.

Request bytes are built once; a fixed number stay in flight on each connection; of an answer only the length
and the error codes are looked at, and fetched records are received into one reused buffer. One thread
drives all connections.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from benchmarks import protocol
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer

_LENGTH = struct.Struct(">i")
_RECEIVE = 1 << 16
_FETCH_BUFFER = 8 << 20


class Connection:
    """One blocking connection."""

    def __init__(self, host: str, port: int, timeout: float = 60.0) -> None:
        self.socket = socket.create_connection((host, port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, request: bytes | bytearray | memoryview) -> None:
        self.socket.sendall(request)

    def receive(self) -> bytes:
        """One whole answer without its length bytes."""
        (size,) = _LENGTH.unpack(self._exactly(4))
        return self._exactly(size)

    def receive_into(self, buffer: memoryview) -> int:
        """One whole answer without its length bytes, at the start of `buffer`; returns its size."""
        (size,) = _LENGTH.unpack(self._exactly(4))
        received = 0
        while received < size:
            count = self.socket.recv_into(buffer[received:size])
            if not count:
                raise ConnectionError("the broker closed the connection")
            received += count
        return int(size)

    def call(self, request: bytes) -> bytes:
        self.send(request)
        return self.receive()

    def _exactly(self, size: int) -> bytes:
        data = self.socket.recv(size)
        if len(data) == size:
            return data
        parts = bytearray(data)
        while len(parts) < size:
            data = self.socket.recv(size - len(parts))
            if not data:
                raise ConnectionError("the broker closed the connection")
            parts += data
        return bytes(parts)


def create_topic(
    connection: Connection,
    topic: str,
    partitions: int,
    configs: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> None:
    """Create the topic and return when every partition has a leader."""
    protocol.check_created(connection.call(protocol.create_topic(topic, partitions, configs)))
    _wait_until_led(connection, topic, partitions, timeout)


def ensure_topic(connection: Connection, topic: str, partitions: int) -> None:
    """The same, unless the topic exists."""
    view = protocol.parse_metadata(connection.call(protocol.metadata([topic])))
    if view.led_partitions.get(topic) != partitions:
        create_topic(connection, topic, partitions)


def _wait_until_led(connection: Connection, topic: str, partitions: int, timeout: float) -> None:
    deadline = time.perf_counter() + timeout
    while time.perf_counter() < deadline:
        view = protocol.parse_metadata(connection.call(protocol.metadata([topic])))
        if view.led_partitions.get(topic) == partitions:
            return
        time.sleep(0.01)
    raise UnexpectedAnswer(f"the partitions of {topic} have no leader after {timeout:.0f} s")


def delete_topic(connection: Connection, topic: str) -> None:
    connection.call(protocol.delete_topic(topic))


def produce_once(
    connection: Connection, request: bytes, answer: ProduceAnswer, timeout: float = 30.0
) -> None:
    """Produce until it succeeds: a partition just created may answer for a moment that it is not led here."""
    deadline = time.perf_counter() + timeout
    while True:
        error = answer.first_error(connection.call(request))
        if not error:
            return
        if time.perf_counter() > deadline:
            raise UnexpectedAnswer(f"produce: error code {error} for {timeout:.0f} s")
        time.sleep(0.01)


def produce_times(
    connection: Connection, request: bytes, answer: ProduceAnswer, times: int, in_flight: int = 5
) -> None:
    """Produce the same request exactly `times` times; an error code ends it."""
    for turn in range(times + in_flight):
        if turn >= in_flight and (error := answer.first_error(connection.receive())):
            raise UnexpectedAnswer(f"produce: error code {error}")
        if turn < times:
            connection.send(request)


class RequestRing:
    """Requests of equal length to be sent round and round; `take` gives the next few as one view."""

    def __init__(self, requests: Sequence[bytes], at_most: int) -> None:
        self._size = len(requests[0])
        self._count = len(requests)
        if any(len(request) != self._size for request in requests):
            raise ValueError("the requests of a ring have equal lengths")
        once = b"".join(requests)
        copies = 1 + -(-at_most // self._count)
        self._view = memoryview(once * copies)
        self._next = 0

    def take(self, count: int) -> memoryview:
        start = self._next
        self._next = (start + count) % self._count
        return self._view[start * self._size : (start + count) * self._size]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay did in its timed part."""

    answers: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


class _ProducerLane:
    """One connection of a replay: keeps `in_flight` requests unanswered."""

    def __init__(self, connection: Connection, ring: RequestRing, answer: ProduceAnswer) -> None:
        self.socket = connection.socket
        self._ring = ring
        self._answer = answer
        self._size = answer.size + 4
        self._rest = b""
        self.unanswered = 0

    def send(self, count: int) -> None:
        self.unanswered += count
        self.socket.sendall(self._ring.take(count))

    def receive(self) -> int:
        """Read what is there; the number of whole answers in it."""
        received = self.socket.recv(_RECEIVE)
        if not received:
            raise ConnectionError("the broker closed the connection")
        if self._rest:
            received = self._rest + received
        size = self._size
        answers, rest = divmod(len(received), size)
        for start in range(0, answers * size, size):
            self._check(received, start)
        self._rest = received[-rest:] if rest else b""
        self.unanswered -= answers
        return answers

    def _check(self, received: bytes, start: int) -> None:
        if _LENGTH.unpack_from(received, start)[0] != self._answer.size:
            raise UnexpectedAnswer(
                f"produce: an answer of unexpected length: {received[start : start + 200]!r}"
            )
        positions = self._answer.error_positions
        if len(positions) == 1:
            at = start + 4 + positions[0]
            failed = received[at] | received[at + 1]
        else:
            failed = self._answer.first_error(memoryview(received)[start + 4 :])
        if failed:
            raise UnexpectedAnswer("produce: a partition answered with an error code")


def replay_produce(
    connections: Sequence[Connection],
    requests: Sequence[bytes],
    answer: ProduceAnswer,
    *,
    in_flight: int,
    warm_up: float,
    seconds: float,
    at_most: int | None = None,
) -> Replay:
    """Send `requests` round and round; count answers after `warm_up` for `seconds`, or until `at_most`."""
    lanes = [
        _ProducerLane(connection, RequestRing(requests, in_flight), answer) for connection in connections
    ]
    for lane in lanes:
        lane.send(in_flight)
    _turn(lanes, time.perf_counter() + warm_up, None)
    started = time.perf_counter()
    answers = _turn(lanes, started + seconds, at_most)
    elapsed = time.perf_counter() - started
    for lane in lanes:
        while lane.unanswered:
            lane.receive()
    return Replay(answers, elapsed)


def _turn(lanes: list[_ProducerLane], deadline: float, at_most: int | None) -> int:
    limit = at_most if at_most is not None else 1 << 62
    now = time.perf_counter
    answers = 0
    if len(lanes) == 1:
        lane = lanes[0]
        while now() < deadline and answers < limit:
            if count := lane.receive():
                answers += count
                lane.send(count)
        return answers
    by_fd = {lane.socket.fileno(): lane for lane in lanes}
    with select.epoll() as poll:
        for fd in by_fd:
            poll.register(fd, select.EPOLLIN)
        while now() < deadline and answers < limit:
            for fd, _ in poll.poll(1.0):
                lane = by_fd[fd]
                if count := lane.receive():
                    answers += count
                    lane.send(count)
    return answers


@dataclass(frozen=True, slots=True)
class FetchReplay:
    """What a replay of fetches received in its timed part."""

    record_bytes: int
    seconds: float

    @property
    def mb_per_second(self) -> float:
        return self.record_bytes / self.seconds / 1e6


def replay_fetch(
    connection: Connection,
    requests: Sequence[bytes],
    record_bytes: int,
    *,
    in_flight: int,
    warm_up: float,
    seconds: float,
) -> FetchReplay:
    """Send fetches round and round, `in_flight` at a time; each brings exactly `record_bytes` of records."""
    buffer = memoryview(bytearray(_FETCH_BUFFER))
    for request in requests:  # once, checked: afterwards all is in the page cache
        connection.send(request)
        _check_fetched(buffer[: connection.receive_into(buffer)], record_bytes)
    for index in range(in_flight):
        connection.send(requests[index % len(requests)])
    turn = in_flight % len(requests)
    turn, _ = _fetch_turn(connection, requests, turn, buffer, record_bytes, time.perf_counter() + warm_up)
    started = time.perf_counter()
    _, answers = _fetch_turn(connection, requests, turn, buffer, record_bytes, started + seconds)
    elapsed = time.perf_counter() - started
    for _ in range(in_flight):
        connection.receive_into(buffer)
    return FetchReplay(answers * record_bytes, elapsed)


def _fetch_turn(
    connection: Connection,
    requests: Sequence[bytes],
    turn: int,
    buffer: memoryview,
    record_bytes: int,
    deadline: float,
) -> tuple[int, int]:
    count, answers, now = len(requests), 0, time.perf_counter
    while now() < deadline:
        size = connection.receive_into(buffer)
        if size <= record_bytes:
            raise UnexpectedAnswer(f"fetch: {size} bytes instead of more than {record_bytes}")
        connection.send(requests[turn])
        turn = (turn + 1) % count
        answers += 1
    return turn, answers


def _check_fetched(response: memoryview, record_bytes: int) -> None:
    fetched = protocol.parse_fetch(response)
    for partition in fetched:
        if partition.error:
            raise UnexpectedAnswer(
                f"fetch: partition {partition.partition} answered with error code {partition.error}"
            )
    size = sum(partition.size for partition in fetched)
    if size != record_bytes:
        raise UnexpectedAnswer(f"fetch: {size} bytes of records instead of {record_bytes}")
