"""Parts leave in order, whatever the socket takes at once; marks are passed when all before them has left."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.base.ranges import FileRange
from barnabas.network.responses import Parts
from barnabas.network.send_queue import SendQueue, sent_mark


class Plain(NamedTuple):
    fd: int
    path: Path


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    client, server = socket.socketpair()
    client.setblocking(False)
    server.setblocking(False)
    with client, server:
        yield client, server


def received(client: socket.socket) -> bytes:
    found = b""
    while True:
        try:
            found += client.recv(1 << 16)
        except BlockingIOError:
            return found


def test_mark_is_passed_when_the_parts_before_it_are_sent(
    pair: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    client, server = pair
    path = tmp_path / "log"
    path.write_bytes(b"records")
    fd = os.open(path, os.O_RDONLY)
    queue, passed = SendQueue(server), list[str]()
    try:
        records = FileRange(Plain(fd, path), 0, 7)
        first: Parts = [b"head", records, sent_mark(lambda: passed.append("first"))]
        queue.add(first)
        queue.add([b"second", sent_mark(lambda: passed.append("second"))])
        assert not passed
        assert queue.unsent == len(b"headrecordssecond")
        queue.send()
    finally:
        os.close(fd)
    assert received(client) == b"headrecordssecond"
    assert passed == ["first", "second"]
    assert queue.unsent == 0


def test_mark_waits_while_the_socket_is_full(pair: tuple[socket.socket, socket.socket]) -> None:
    client, server = pair
    queue, passed = SendQueue(server), list[str]()
    large = bytes(8 << 20)
    queue.add([b"small", sent_mark(lambda: passed.append("small"))])
    queue.add([large, sent_mark(lambda: passed.append("large"))])
    with pytest.raises(BlockingIOError):
        queue.send()
    assert passed == ["small"]
    count = len(received(client))
    while queue.unsent:
        try:
            queue.send()
        except BlockingIOError:
            assert passed == ["small"]
        count += len(received(client))
    assert count == len(large) + 5
    assert passed == ["small", "large"]


def test_mark_without_unsent_parts_is_passed_at_once(pair: tuple[socket.socket, socket.socket]) -> None:
    passed: list[str] = []
    SendQueue(pair[1]).add([sent_mark(lambda: passed.append("now"))])
    assert passed == ["now"]


def test_cleared_queue_drops_marks(pair: tuple[socket.socket, socket.socket]) -> None:
    queue, passed = SendQueue(pair[1]), list[str]()
    queue.add([b"a", sent_mark(lambda: passed.append("a"))])
    queue.clear()
    queue.send()
    assert not passed
    assert queue.unsent == 0
