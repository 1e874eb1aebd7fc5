"""Crowds and closed loops against sockets instead of a broker."""

import socket
import threading
from collections.abc import Iterator

import pytest
from benchmarks import group_protocol
from benchmarks.closed_loop import Lane, run_closed_loop
from benchmarks.crowd import Crowd
from benchmarks.group_members import ClassicMember, is_stable
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.raw_client import Connection
from kio.schema.errors import ErrorCode
from tests.patience import PATIENCE
from tests.unit.benchmarks import group_answers

JOIN, SYNC, HEARTBEAT, LEAVE = 11, 14, 12, 13


class OneMemberCoordinator(threading.Thread):
    """Answers one connection as the coordinator of a group of one; the second heartbeat asks to rejoin."""

    def __init__(self, peer: socket.socket) -> None:
        super().__init__(daemon=True)
        self.requests: list[int] = []
        self._peer = peer
        self._generation = 0

    def run(self) -> None:
        while length := self._peer.recv(4, socket.MSG_WAITALL):
            request = self._peer.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
            answer = self._answer(int.from_bytes(request[:2], "big"))
            self._peer.sendall(len(answer).to_bytes(4, "big") + answer)

    def _answer(self, api_key: int) -> bytes:
        self.requests.append(api_key)
        if api_key == JOIN:
            self._generation += 1
            return group_answers.joined("m", leader="m", generation=self._generation, members=["m"])
        if api_key == SYNC:
            return group_answers.synced(group_protocol.assignment("t", [0, 1]))
        second = api_key == HEARTBEAT and self.requests.count(HEARTBEAT) == 2
        return group_answers.heartbeat(ErrorCode.rebalance_in_progress if second else ErrorCode.none)


@pytest.fixture
def coordinated() -> Iterator[tuple[Connection, OneMemberCoordinator]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Connection("127.0.0.1", server.getsockname()[1], timeout=PATIENCE)
        peer, _ = server.accept()
        coordinator = OneMemberCoordinator(peer)
        coordinator.start()
        with connection, peer:
            yield connection, coordinator
            connection.socket.shutdown(socket.SHUT_WR)
            coordinator.join(PATIENCE)


def test_a_crowd_joins_heartbeats_rejoins_and_leaves(
    coordinated: tuple[Connection, OneMemberCoordinator],
) -> None:
    connection, coordinator = coordinated
    member = ClassicMember("g", "t", 2)
    crowd = Crowd([connection], [member], interval=0.001)
    crowd.start()
    crowd.run_until(lambda: is_stable(crowd.members, 2), timeout=PATIENCE)
    crowd.run_until(lambda: member.generation == 2 and member.settled, timeout=PATIENCE)
    crowd.leave_all()
    crowd.close()
    assert coordinator.requests[:6] == [JOIN, SYNC, HEARTBEAT, HEARTBEAT, JOIN, SYNC]
    assert coordinator.requests[-1] == LEAVE
    assert member.left


def test_a_crowd_that_does_not_settle_in_time_says_so(
    coordinated: tuple[Connection, OneMemberCoordinator],
) -> None:
    crowd = Crowd([coordinated[0]], [ClassicMember("g", "t", 2)], interval=1.0)
    crowd.start()
    with pytest.raises(UnexpectedAnswer, match="0 of 1 members"):
        crowd.run_until(lambda: False, timeout=0.0)
    crowd.close()


def test_a_closed_loop_counts_answers_and_refuses_an_error(
    coordinated: tuple[Connection, OneMemberCoordinator],
) -> None:
    connection, coordinator = coordinated
    member = ClassicMember("g", "t", 2)
    coordinator.requests.extend([HEARTBEAT, HEARTBEAT])  # past the one that is refused

    def refuse(answer: bytes) -> None:
        if error := group_protocol.first_error(answer):
            raise UnexpectedAnswer(f"error code {error}")

    loop = run_closed_loop([Lane(connection, member.heartbeat, refuse)], warm_up=0.0, seconds=0.01)
    assert 0 < len(loop.latencies) < len(coordinator.requests)
    coordinator.requests.clear()
    with pytest.raises(UnexpectedAnswer, match="27"):
        run_closed_loop([Lane(connection, member.heartbeat, refuse)], warm_up=0.0, seconds=5.0)
