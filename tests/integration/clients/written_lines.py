"""Lines of a file that Kafka Connect copies to a topic and on to another file."""

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.member import until
from tests.integration.clients.transactions import texts

_SECONDS = 90.0
"""Until a line has come through: JVMs and a broker that starts again share the machine with other tests."""


class Writer:
    """Appends lines to a file all the time, in a thread, until it is closed."""

    def __init__(self, file: Path) -> None:
        self.lines: list[str] = []
        self._file: Path = file
        self._is_over: threading.Event = threading.Event()
        self._thread: threading.Thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._file.touch()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()

    def wait_for_more(self, count: int = 20) -> None:
        enough = len(self.lines) + count
        until(lambda: len(self.lines) >= enough)

    def _run(self) -> None:
        with self._file.open("a") as file:
            while not self._is_over.wait(0.01):
                line = f"{self._file.name} {len(self.lines)}"
                file.write(f"{line}\n")
                file.flush()
                self.lines.append(line)


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def wait_for_lines(file: Path, wanted: list[str]) -> None:
    until(lambda: set(_lines(file)) >= set(wanted), seconds=_SECONDS)


def all_committed(driver: Driver, topic: str, count: int) -> list[str]:
    """What a consumer of committed records gets from the whole topic, which should be `count` messages.

    A last message marks the end, so that one too many is seen as well.
    """
    driver.produce(topic, texts("the end"))
    received = [(message.value or b"").decode() for message in driver.consume(topic, count + 1)]
    assert received[-1] == "the end"
    return received[:-1]
