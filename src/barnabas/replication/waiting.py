"""Requests that wait for a partition: producers for an acknowledgement, fetches for records."""

import logging
from typing import Protocol

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.base.ids import TopicPartition

logger = logging.getLogger("replication")


class Watcher(Protocol):
    """A fetch that waits for records to become readable."""

    def on_readable(self, added: int) -> None:
        """About `added` more bytes can be read; 0 if only reading shows how many."""
        ...

    def give_up(self) -> None:
        """No more records will come."""
        ...


class WaitingProducers:
    """Acknowledgements by the offset they wait for: it has to be below a frontier that only grows."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Deferred[None]]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, offset: int) -> Deferred[None]:
        acknowledged: Deferred[None] = Deferred()
        self._waiting.append((offset, acknowledged))
        return acknowledged

    def reach(self, frontier: int, error: KafkaError | None = None) -> None:
        """Everything below `frontier` is acknowledged, or refused with `error`."""
        reached = [each for each in self._waiting if each[0] < frontier]
        self._waiting = [each for each in self._waiting if each[0] >= frontier]
        for _, acknowledged in reached:
            if error is None:
                acknowledged.complete(None)
            else:
                acknowledged.fail(error)

    def fail(self, error: KafkaError) -> None:
        waiting, self._waiting = self._waiting, []
        for _, acknowledged in waiting:
            acknowledged.fail(error)


def notify(watchers: dict[Watcher, None], added: int, topic_partition: TopicPartition) -> None:
    """Wake the waiting fetches. A fetch that fails is dropped: the append that woke it has succeeded."""
    for watcher in list(watchers):
        try:
            watcher.on_readable(added)
        except Exception:
            logger.exception("Unexpected error in a fetch that waits for %s", topic_partition)
            watchers.pop(watcher, None)
