"""Many group members on one thread: a connection for each, one epoll, a heap of due heartbeats."""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable, Sequence

from benchmarks.group_members import Member
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.raw_client import Connection


class Crowd:
    """Drives members: each has a request in flight, or a heartbeat due `interval` seconds after the last."""

    def __init__(self, connections: Sequence[Connection], members: Sequence[Member], interval: float) -> None:
        self.members = list(members)
        self.connections = list(connections)
        self.interval = interval
        self._by_fd = {connection.socket.fileno(): n for n, connection in enumerate(connections)}
        self._due: list[tuple[float, int]] = []
        self._waiting = [False] * len(self.members)
        self._poll = select.epoll()
        for fd in self._by_fd:
            self._poll.register(fd, select.EPOLLIN)
        self.heartbeats = 0

    def start(self) -> None:
        """All members begin to join, in order, without waiting for one another."""
        for number, member in enumerate(self.members):
            self._send(number, member.start())

    def spread_heartbeats(self) -> None:
        """Heartbeats evenly over the interval, as those of members that came at different times."""
        now, step = time.perf_counter(), self.interval / len(self.members)
        self._due = [(now + step * (turn + 1), number) for turn, number in enumerate(self._idle())]
        heapq.heapify(self._due)

    def leave(self, number: int) -> None:
        """Say that a member leaves, as soon as its request in flight is answered."""
        while self._waiting[number]:
            self._turn(time.perf_counter() + 1.0)
        self._due = [entry for entry in self._due if entry[1] != number]
        heapq.heapify(self._due)
        self._send(number, self.members[number].leave())

    def leave_all(self, timeout: float = 30.0) -> None:
        remaining = [number for number, member in enumerate(self.members) if not member.left]
        for number in remaining:
            self.leave(number)
        self.run_until(lambda: all(member.left for member in self.members), timeout)

    def run_until(self, reached: Callable[[], bool], timeout: float) -> None:
        deadline = time.perf_counter() + timeout
        while not reached():
            if time.perf_counter() > deadline:
                settled = sum(member.settled for member in self.members)
                raise UnexpectedAnswer(
                    f"{settled} of {len(self.members)} members are settled after {timeout:.0f} s"
                )
            self._turn(deadline)

    def run_for(self, seconds: float) -> None:
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            self._turn(deadline)

    def close(self) -> None:
        self._poll.close()

    def _idle(self) -> list[int]:
        return [number for number, waiting in enumerate(self._waiting) if not waiting]

    def _send(self, number: int, request: bytes) -> None:
        self._waiting[number] = True
        self.connections[number].send(request)

    def _turn(self, deadline: float) -> None:
        now = time.perf_counter()
        while self._due and self._due[0][0] <= now:
            _, number = heapq.heappop(self._due)
            self.heartbeats += 1
            self._send(number, self.members[number].heartbeat())
        until = min(deadline, self._due[0][0]) if self._due else deadline
        for fd, _ in self._poll.poll(max(0.0, until - time.perf_counter())):
            number = self._by_fd[fd]
            self._answered(number, self.connections[number].receive())

    def _answered(self, number: int, answer: bytes) -> None:
        self._waiting[number] = False
        member = self.members[number]
        request = member.receive(answer)
        if request is not None:
            self._send(number, request)
        elif not member.left:
            heapq.heappush(self._due, (time.perf_counter() + self.interval, number))
