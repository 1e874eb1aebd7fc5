"""The doorbell of the embedded store: Unix sockets by which the stores on one database wake each other.

`<database>-sessions/<16 hex digits>.bell` is the listening stream socket of one store. A store binds its own
first and then connects to all others, so every two stores are connected. After a commit a store sends one
byte to each peer. A connection that ends wakes the peer as well: the process may have been killed. The kernel
closes the connections of a process in the same moment as it releases its lock (`sessions`).

A ring is a hint, never the truth: what happened is in the database. A peer that does not read (a stopped
process) loses nothing but hints. Without a doorbell, stores find changes by polling. The name of a socket
appears only when the socket listens, so a socket that refuses connections is that of an ended process.

`ring` and `wake` may be called from any thread, `open` and `wait` from one only.
"""

import contextlib
import os
import selectors
import socket
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

_SUFFIX = ".bell"
_BACKLOG = 128
_LONGEST_ADDRESS = 100
"""Bytes of a path that fit into a socket address; longer ones go through a descriptor of the directory."""


class Doorbell:
    def __init__(self, directory: Path) -> None:
        self._directory: Path = directory
        self._name: str = os.urandom(8).hex() + _SUFFIX
        self._lock: threading.Lock = threading.Lock()
        self._selector: selectors.BaseSelector = selectors.DefaultSelector()
        self._wake_fd: int = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._selector.register(self._wake_fd, selectors.EVENT_READ)
        self._listener: socket.socket | None = None
        self._peers: dict[socket.socket, str] = {}
        """The name of the peer's socket, empty if the peer has connected to this store."""
        self._has_lost_peer: bool = False
        self._is_closed: bool = False
        _open_doorbells.add(self)

    def open(self) -> None:
        """Listen, and connect to all other stores. Raises OSError if the directory does not allow it."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with self._lock:
            if self._listener is None and not self._is_closed:
                self._listener = self._listen()
                self._selector.register(self._listener, selectors.EVENT_READ)
                self._connect_to_others()

    @property
    def is_open(self) -> bool:
        return self._listener is not None

    def ring(self) -> None:
        """Wake all other stores."""
        with self._lock:
            if self._is_closed:
                return
            if self._listener is None:
                self._connect_to_others()
            for peer in list(self._peers):
                try:
                    peer.send(b"\0", socket.MSG_NOSIGNAL)
                except BlockingIOError:
                    pass  # It has not read the rings before this one.
                except OSError:
                    self._drop(peer)

    def wake(self) -> None:
        """Wake the thread of this store that waits."""
        with self._lock:
            if not self._is_closed:
                os.eventfd_write(self._wake_fd, 1)

    def wait(self, seconds: float) -> bool:
        """Wait for a ring or `wake`. Returns whether a connection to a peer has ended since the last call."""
        if self._is_closed:
            return False
        for key, _ in self._selector.select(seconds):
            with self._lock:
                if key.fd == self._wake_fd:
                    os.eventfd_read(self._wake_fd)
                elif key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket):
                    self._read(key.fileobj)
        with self._lock:
            has_lost_peer, self._has_lost_peer = self._has_lost_peer, False
        return has_lost_peer

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._stop_listening()
            self._close_descriptors()

    def abandon(self) -> None:
        """Close this process's copies of the sockets: a forked child does this, where no lock is held."""
        self._lock = threading.Lock()
        if not self._is_closed:
            self._close_descriptors()

    def _close_descriptors(self) -> None:
        self._is_closed = True
        self._selector.close()
        os.close(self._wake_fd)
        for peer in self._peers:
            peer.close()
        self._peers.clear()
        if self._listener is not None:
            self._listener.close()

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.setblocking(False)
            with self._address(self._name + ".new") as address:
                listener.bind(address)
            listener.listen(_BACKLOG)
            (self._directory / (self._name + ".new")).rename(self._directory / self._name)
        except BaseException:
            listener.close()
            raise
        return listener

    def _connect_to_others(self) -> None:
        try:
            names = {path.name for path in self._directory.iterdir() if path.suffix == _SUFFIX}
        except OSError:
            return
        for name in names.difference(self._peers.values(), {self._name}):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            peer.setblocking(False)
            try:
                with self._address(name) as address:
                    peer.connect(address)
            except ConnectionRefusedError:
                peer.close()
                with contextlib.suppress(OSError):
                    (self._directory / name).unlink()
            except OSError:
                peer.close()  # It has just closed, or too many connect at once: it finds changes by polling.
            else:
                self._add(peer, name)

    @contextlib.contextmanager
    def _address(self, name: str) -> Iterator[str]:
        path = str(self._directory / name)
        if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
            yield path
            return
        directory = os.open(self._directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{directory}/{name}"
        finally:
            os.close(directory)

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            peer, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:
            # No descriptors are left. A listening socket would wake the thread without end.
            self._stop_listening()
            return
        peer.setblocking(False)
        self._add(peer, "")

    def _stop_listening(self) -> None:
        if self._listener is not None:
            with contextlib.suppress(OSError):
                (self._directory / self._name).unlink()
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None

    def _add(self, peer: socket.socket, name: str) -> None:
        self._peers[peer] = name
        self._selector.register(peer, selectors.EVENT_READ)

    def _read(self, peer: socket.socket) -> None:
        if peer not in self._peers:
            return
        try:
            if not peer.recv(4096):
                self._drop(peer)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(peer)

    def _drop(self, peer: socket.socket) -> None:
        self._selector.unregister(peer)
        del self._peers[peer]
        peer.close()
        self._has_lost_peer = True
        os.eventfd_write(self._wake_fd, 1)


_open_doorbells: weakref.WeakSet[Doorbell] = weakref.WeakSet()


def _abandon_all() -> None:
    for doorbell in list(_open_doorbells):
        doorbell.abandon()


os.register_at_fork(after_in_child=_abandon_all)
