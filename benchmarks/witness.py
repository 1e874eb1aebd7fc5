"""A client on a connection of its own that sends 50 small requests a second and notes how long it waits."""

from __future__ import annotations

import threading
import time

from benchmarks import protocol
from benchmarks.raw_client import Connection

PAUSE_SECONDS = 0.02


class Witness:
    """Use it with `with`; `worst_seconds` is the longest wait for an answer so far."""

    def __init__(self, host: str, port: int, topic: str) -> None:
        self.worst_seconds: float = 0.0
        self.count: int = 0
        self._connection = Connection(host, port)
        self._request = protocol.metadata([topic])
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="witness", daemon=True)

    def __enter__(self) -> Witness:
        self._connection.call(self._request)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.close()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stop.wait(PAUSE_SECONDS):
                started = time.perf_counter()
                self._connection.call(self._request)
                self.worst_seconds = max(self.worst_seconds, time.perf_counter() - started)
                self.count += 1
        except BaseException as error:  # noqa: BLE001  raised in the thread that uses the witness
            self._failure = error
