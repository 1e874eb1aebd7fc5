"""Words for an application that counts them: a producer that says them, and the counts that must come."""

import threading
from collections import defaultdict
from types import TracebackType
from typing import Self

from tests.integration.clients.drivers import Driver
from tests.integration.clients.messages import Message
from tests.integration.clients.transactions import texts

_LINES = ("to be or not to be", "that is the question", "to die to sleep", "no more and by a sleep")
PARTITIONS = 2
"""Of the topic of the lines."""


class Speaker:
    """Says the lines again and again, in a thread, once each though the broker is killed."""

    def __init__(self, driver: Driver, topic: str) -> None:
        self.rounds: int = 0
        self.failure: BaseException | None = None
        self._driver: Driver = driver
        self._topic: str = topic
        self._is_over: threading.Event = threading.Event()
        self._thread: threading.Thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def counts(self) -> dict[str, list[int]]:
        """Every count that must come for each word, in order."""
        assert self.failure is None, self.failure
        words = " ".join(_LINES).split()
        return {word: list(range(1, words.count(word) * self.rounds + 1)) for word in words}

    def _run(self) -> None:
        try:
            while not self._is_over.wait(0.02):
                self._driver.produce(self._topic, texts(*_LINES, partition=self.rounds % PARTITIONS))
                self.rounds += 1
        except BaseException as error:  # noqa: BLE001  raised to the test that reads the counts
            self.failure = error


def counts_of(messages: list[Message]) -> dict[str, list[int]]:
    counts = defaultdict(list)
    for message in messages:
        counts[(message.key or b"").decode()].append(int(message.value or b""))
    return dict(counts)
