"""What a life asks of a broker, whatever carries the requests: the interface of all its clients."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tests.faults.topic_life.found_partition import FoundPartition

PATIENCE = 10.0
"""Seconds until something that does not settle is a violation."""


class CoordinatorOff(Exception):
    """The coordinator does not serve; allowed where its log cannot be opened."""


class Requests(ABC):
    """Answers are those of Kafka's protocol, as far as the steps of a life look at them."""

    def __init__(self) -> None:
        self.coordinators_may_be_off: bool = False

    # --- topics ---------------------------------------------------------------------------------------

    @abstractmethod
    async def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> UUID: ...

    @abstractmethod
    async def delete_topic(self, name: str) -> None: ...

    @abstractmethod
    async def topics(self) -> dict[str, tuple[UUID, int]]:
        """Name, id and number of partitions of every topic that is not internal."""

    @abstractmethod
    async def alter_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        """None removes a value."""

    @abstractmethod
    async def configs(self, topic: str) -> dict[str, str]:
        """What is set for the topic itself."""

    # --- records --------------------------------------------------------------------------------------

    @abstractmethod
    async def produce(
        self, topic: str, partition: int, batch: bytes, transactional_id: str | None = None
    ) -> Any: ...

    @abstractmethod
    async def delete_records(self, topic: str, partition: int, offset: int) -> Any: ...

    @abstractmethod
    async def list_offset(self, topic: str, partition: int, timestamp: int, isolation: int = 0) -> Any: ...

    @abstractmethod
    async def find_partition(self, topic: str, partition: int) -> FoundPartition:
        """Everything that a consumer finds."""

    # --- coordinators ---------------------------------------------------------------------------------

    @abstractmethod
    async def init_producer_id(self, transactional_id: str | None) -> tuple[int, int]: ...

    @abstractmethod
    async def end_transaction(
        self, transactional_id: str, producer: Mapping[str, int], *, is_commit: bool
    ) -> Any: ...

    @abstractmethod
    async def markers_are_missing(self) -> bool:
        """Whether a transaction is decided whose markers are not all written."""

    @abstractmethod
    async def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None: ...

    @abstractmethod
    async def commit_offset_in_transaction(
        self,
        transactional_id: str,
        producer: Mapping[str, int],
        group: str,
        topic: str,
        partition: int,
        offset: int,
    ) -> None: ...

    @abstractmethod
    async def committed_offsets(self, group: str) -> dict[tuple[str, int], int]: ...
