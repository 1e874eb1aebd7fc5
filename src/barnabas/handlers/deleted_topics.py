"""Recently deleted topics: the next request that names one does not create it again.

A producer or consumer that runs on, or a look at the topic by a client that allows creation, would otherwise
bring a topic back in the very answer that should say it does not exist. Kafka answers
UNKNOWN_TOPIC_OR_PARTITION to the first such request. Later ones create the topic, as they do with Kafka;
CreateTopics is free to do so at once.
"""

from collections.abc import Iterable
from typing import Final

GRACE_SECONDS: Final = 1.0


class DeletedTopics:
    """Used on the event loop only; times are the clock's monotonic ones."""

    def __init__(self) -> None:
        self._deleted_at: dict[str, float] = {}
        """In the order of the times."""

    def note(self, names: Iterable[str], now: float) -> None:
        for name in names:
            self._deleted_at.pop(name, None)
            self._deleted_at[name] = now
        self._forget_older_than(now - GRACE_SECONDS)

    def forget(self, names: Iterable[str]) -> None:
        """They were not deleted after all."""
        for name in names:
            self._deleted_at.pop(name, None)

    def is_recent(self, name: str, now: float) -> bool:
        deleted_at = self._deleted_at.get(name)
        return deleted_at is not None and now - deleted_at < GRACE_SECONDS

    def __len__(self) -> int:
        return len(self._deleted_at)

    def _forget_older_than(self, time: float) -> None:
        while self._deleted_at:
            oldest = next(iter(self._deleted_at))
            if self._deleted_at[oldest] > time:
                return
            del self._deleted_at[oldest]
