"""The generator against a socket pair instead of a broker."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from benchmarks.raw_client import Connection, RequestRing, produce_times, replay_produce
from tests.patience import PATIENCE


@pytest.fixture
def pair() -> Iterator[tuple[Connection, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Connection("127.0.0.1", server.getsockname()[1], timeout=PATIENCE)
        peer, _ = server.accept()
        with connection, peer:
            yield connection, peer


def answer_bytes(answer: ProduceAnswer, error: int = 0) -> bytes:
    body = bytearray(answer.size)
    struct.pack_into(">h", body, answer.error_positions[0], error)
    return struct.pack(">i", answer.size) + bytes(body)


def test_ring_goes_round_in_order() -> None:
    ring = RequestRing([b"a", b"b", b"c"], at_most=5)
    assert bytes(ring.take(2)) == b"ab"
    assert bytes(ring.take(5)) == b"cabca"
    assert bytes(ring.take(1)) == b"b"


def test_ring_refuses_requests_of_different_length() -> None:
    with pytest.raises(ValueError):
        RequestRing([b"a", b"bb"], at_most=1)


def test_replay_keeps_the_flight_and_counts_every_answer(pair: tuple[Connection, socket.socket]) -> None:
    connection, peer = pair
    answer = ProduceAnswer("t", 1)
    answered = 0

    def serve() -> None:
        nonlocal answered
        while peer.recv(len(b"request"), socket.MSG_WAITALL):
            peer.sendall(answer_bytes(answer))
            answered += 1

    thread = threading.Thread(target=serve)
    thread.start()
    replay = replay_produce(
        [connection], [b"request"], answer, in_flight=5, warm_up=0.0, seconds=60.0, at_most=100
    )
    connection.socket.shutdown(socket.SHUT_WR)
    thread.join()
    assert 100 <= replay.answers <= 104
    assert answered == replay.answers + 5


def test_error_code_ends_a_replay(pair: tuple[Connection, socket.socket]) -> None:
    connection, peer = pair
    answer = ProduceAnswer("t", 1)
    peer.sendall(answer_bytes(answer) + answer_bytes(answer, error=6))
    with pytest.raises(UnexpectedAnswer):
        replay_produce([connection], [b"request"], answer, in_flight=2, warm_up=0.0, seconds=60.0)


def test_produce_times_sends_exactly_that_many(pair: tuple[Connection, socket.socket]) -> None:
    connection, peer = pair
    answer = ProduceAnswer("t", 1)
    peer.sendall(answer_bytes(answer) * 7)
    produce_times(connection, b"request", answer, 7, in_flight=3)
    connection.close()
    assert peer.recv(1000, socket.MSG_WAITALL) == b"request" * 7
