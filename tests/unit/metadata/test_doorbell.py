import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from barnabas.metadata.doorbell import Doorbell

Open = Callable[[], Doorbell]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def connect(directory: Path) -> Iterator[Open]:
    opened: list[Doorbell] = []

    def open_one() -> Doorbell:
        opened.append(Doorbell(directory))
        opened[-1].open()
        return opened[-1]

    yield open_one
    for doorbell in opened:
        doorbell.close()


def settle(doorbell: Doorbell) -> bool:
    """Take all that has arrived. Returns whether the connection to a peer has ended."""
    has_lost_peer = False
    while doorbell._selector.select(0):
        has_lost_peer |= doorbell.wait(0)
    return has_lost_peer


def is_rung(doorbell: Doorbell) -> bool:
    return bool(doorbell._selector.select(0))


def test_ring_wakes_every_other_store(connect: Open) -> None:
    first, second, third = connect(), connect(), connect()
    for doorbell in (first, second, third):
        settle(doorbell)
    second.ring()
    assert [is_rung(doorbell) for doorbell in (first, second, third)] == [True, False, True]
    assert not settle(first)
    assert not is_rung(first)


def test_store_that_does_not_listen_rings_too(connect: Open, directory: Path) -> None:
    listening = connect()
    writer = Doorbell(directory)
    writer.ring()
    settle(listening)
    writer.ring()
    assert is_rung(listening)
    later = connect()
    writer.ring()
    assert is_rung(later)
    writer.close()


def test_end_of_a_peer_is_noticed_on_both_kinds_of_connection(connect: Open) -> None:
    first, second = connect(), connect()
    settle(first)
    second.close()
    assert settle(first)
    third = connect()
    settle(first)
    first.close()
    assert settle(third)


def test_peer_that_does_not_read_does_not_hold_up_the_others(connect: Open) -> None:
    stopped, ringing = connect(), connect()
    for _ in range(5000):
        ringing.ring()
    reading = connect()
    settle(ringing)
    settle(reading)
    ringing.ring()
    assert is_rung(reading)
    assert not settle(stopped)


def test_wake(connect: Open) -> None:
    doorbell = connect()
    doorbell.wake()
    assert not doorbell.wait(PATIENCE)
    assert not is_rung(doorbell)


def test_socket_of_an_ended_process_is_removed(connect: Open, directory: Path) -> None:
    directory.mkdir()
    left = directory / "0123456789abcdef.bell"
    ended = socket.socket(socket.AF_UNIX)
    address = os.open(directory, os.O_PATH)
    ended.bind(f"/proc/self/fd/{address}/{left.name}")
    os.close(address)
    ended.close()
    doorbell = connect()
    assert not left.exists()
    doorbell.close()
    assert list(directory.iterdir()) == []


def test_path_longer_than_a_socket_address(tmp_path: Path) -> None:
    directory = tmp_path / ("long" * 30)
    first, second = Doorbell(directory), Doorbell(directory)
    first.open()
    second.open()
    settle(first)
    second.ring()
    assert is_rung(first)
    first.close()
    second.close()


def test_without_descriptors_the_doorbell_stops_listening_and_can_be_opened_again(
    connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = connect()

    def fail(_: socket.socket) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "accept", fail)
        second = connect()
        settle(first)
        listens = first.is_open
    assert not listens
    first.open()
    settle(second)
    first.ring()
    assert is_rung(second)


def test_closed_doorbell_does_nothing(connect: Open) -> None:
    doorbell = connect()
    doorbell.close()
    doorbell.close()
    doorbell.ring()
    doorbell.wake()
    assert not doorbell.wait(PATIENCE)


def test_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    doorbell = Doorbell(tmp_path / "file")
    with pytest.raises(OSError, match="exists"):
        doorbell.open()
    doorbell.ring()
    doorbell.close()
