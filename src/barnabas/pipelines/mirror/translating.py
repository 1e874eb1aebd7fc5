"""Translation of groups beside a running mirror."""

import sys
import threading

from barnabas.client.errors import ClientError
from barnabas.pipelines.mirror.copies import Undecided
from barnabas.pipelines.mirror.mirroring import Mirror


class Translating:
    """Translates groups now and then while the query runs, and once when it has ended."""

    def __init__(self, mirror: Mirror, interval: float) -> None:
        self._mirror: Mirror = mirror
        self._interval: float = interval
        self._stop: threading.Event = threading.Event()
        self._thread: threading.Thread = threading.Thread(target=self._run, name="groups", daemon=True)

    def __enter__(self) -> "Translating":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._once()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self._once()

    def _once(self) -> None:
        try:
            self._mirror.translate()
        except (ClientError, ConnectionError, Undecided) as error:  # the next time may be better
            sys.stderr.write(f"groups are not translated: {error}\n")
