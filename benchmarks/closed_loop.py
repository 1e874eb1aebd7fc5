"""Many connections with one request in flight each: rate and latencies of requests that change each time.

The first answer on each connection is checked by its parser. Later ones must equal it byte for byte: requests
carry one correlation id, so equal requests have equal answers unless something went wrong.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.protocol import UnexpectedAnswer
from benchmarks.raw_client import Connection


@dataclass(frozen=True, slots=True)
class Lane:
    """A connection, what makes its next request, and what refuses a bad answer."""

    connection: Connection
    next_request: Callable[[], bytes | bytearray]
    check: Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """What was answered in the timed part."""

    latencies: list[float]
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


def run_closed_loop(lanes: Sequence[Lane], warm_up: float, seconds: float) -> ClosedLoop:
    """Send the next request of a lane as soon as the last is answered, for `seconds` after `warm_up`."""
    expected = []
    for lane in lanes:
        answer = lane.connection.call(bytes(lane.next_request()))
        lane.check(answer)
        expected.append(answer)
    loop = _Loop(lanes, expected)
    try:
        loop.run(time.perf_counter() + warm_up)
        started = time.perf_counter()
        latencies = loop.run(started + seconds)
        elapsed = time.perf_counter() - started
        loop.drain()
    finally:
        loop.poll.close()
    return ClosedLoop(latencies, elapsed)


class _Loop:
    def __init__(self, lanes: Sequence[Lane], expected: Sequence[bytes]) -> None:
        self.poll = select.epoll()
        self._lanes = {lane.connection.socket.fileno(): lane for lane in lanes}
        self._expected = dict(zip(self._lanes, expected, strict=True))
        self._sent: dict[int, float] = {}
        for fd, lane in self._lanes.items():
            self.poll.register(fd, select.EPOLLIN)
            self._send(fd, lane)

    def run(self, deadline: float) -> list[float]:
        now = time.perf_counter
        latencies = []
        while now() < deadline:
            for fd, _ in self.poll.poll(1.0):
                lane = self._lanes[fd]
                answer = lane.connection.receive()
                latencies.append(now() - self._sent[fd])
                if answer != self._expected[fd]:
                    lane.check(answer)
                    raise UnexpectedAnswer(f"an answer unlike the first: {answer[:200]!r}")
                self._send(fd, lane)
        return latencies

    def drain(self) -> None:
        for lane in self._lanes.values():
            lane.connection.receive()

    def _send(self, fd: int, lane: Lane) -> None:
        request = lane.next_request()
        self._sent[fd] = time.perf_counter()
        lane.connection.send(request)
