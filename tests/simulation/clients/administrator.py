"""A client that creates, grows and deletes topics of its own, at any broker.

It knows what was acknowledged: which of its topics exist in the end, and with how many partitions. A topic is
given up after a request whose outcome is not known: it may be carried out later.
"""

from contextlib import suppress
from typing import Any

from tests.simulation.clients.cluster_client import ClusterClient, Unavailable
from tests.simulation.violation import Violation

from barnabas.base.errors import ErrorCode

_TIMEOUT_MS = 5000
_TOPICS, _PARTITIONS = 3, 3
"""At most so many at a time."""


class Administrator:
    def __init__(self, client: ClusterClient, factor: int) -> None:
        self._client: ClusterClient = client
        self._factor: int = factor
        self._partitions: dict[str, int | None] = {}
        """How many each topic has, 0 if it was deleted; None if that is not known."""
        self.acknowledged: int = 0

    async def act(self) -> None:
        rng = self._client.rng
        existing = [name for name, count in self._partitions.items() if count]
        name = rng.choice(existing) if len(existing) >= _TOPICS else f"admin-{len(self._partitions)}"
        known = self._partitions.get(name)
        self._partitions[name] = None
        with suppress(Unavailable):
            if not known:
                await self._create(name)
            elif known < _PARTITIONS and rng.random() < 0.5:
                await self._grow(name, known + 1)
            else:
                await self._delete(name)

    async def _create(self, name: str) -> None:
        topic = {
            "name": name,
            "num_partitions": 1,
            "replication_factor": self._factor,
            "assignments": [],
            "configs": [],
        }
        answer = await self._client.any_broker(
            "create_topics", 7, topics=[topic], timeout=_TIMEOUT_MS, validate_only=False
        )
        self._note(name, 1, answer.topics[0])

    async def _grow(self, name: str, count: int) -> None:
        topic = {"name": name, "count": count, "assignments": None}
        answer = await self._client.any_broker(
            "create_partitions", 3, topics=[topic], timeout=_TIMEOUT_MS, validate_only=False
        )
        self._note(name, count, answer.results[0])

    async def _delete(self, name: str) -> None:
        topic = {"name": name, "topic_id": None}
        answer = await self._client.any_broker("delete_topics", 6, topics=[topic], timeout=_TIMEOUT_MS)
        self._note(name, 0, answer.responses[0])

    def _note(self, name: str, partitions: int, answer: Any) -> None:
        if ErrorCode(answer.error_code) is ErrorCode.none:
            self._partitions[name] = partitions
            self.acknowledged += 1

    def check(self, existing: dict[str, int], now: float) -> list[Violation]:
        """`existing` has the number of partitions of each topic in the metadata store."""
        return [
            Violation(
                "topic-lost-or-back", f"{name} has {existing.get(name, 0)} partitions, not {count}", now
            )
            for name, count in self._partitions.items()
            if count is not None and existing.get(name, 0) != count
        ]
