"""The transaction coordinator of this broker, made when it is first needed."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.coordinator_host import CoordinatorHost
from barnabas.broker.store_thread import StoreThread
from barnabas.controller.producer_ids import ProducerIds
from barnabas.coordinator.internal_topics import TRANSACTION_STATE
from barnabas.replication.partitions import Partitions

if TYPE_CHECKING:
    from barnabas.coordinator.group_coordinator import GroupCoordinator
    from barnabas.coordinator.transaction_coordinator import TransactionCoordinator

logger = logging.getLogger("broker")


class TransactionHost(CoordinatorHost["TransactionCoordinator"]):
    def __init__(
        self,
        config: BrokerConfig,
        partitions: Partitions,
        clock: Clock,
        executor: Executor,
        holds: LoopHolds,
        groups: Callable[[], "GroupCoordinator"],
        producer_ids: ProducerIds,
        store: StoreThread,
    ) -> None:
        super().__init__(TRANSACTION_STATE, config, partitions, clock, executor, holds)
        self._groups: Callable[[], GroupCoordinator] = groups
        self._producer_ids: ProducerIds = producer_ids
        self._store: StoreThread = store
        self._next_block: asyncio.Task[None] | None = None

    def _build(self) -> "TransactionCoordinator":
        from barnabas.coordinator.runtime.loader import Loader
        from barnabas.coordinator.runtime.transaction_survivors import TransactionSurvivors
        from barnabas.coordinator.transaction_coordinator import TransactionCoordinator

        buffer_size = self._config.get("transaction.state.log.load.buffer.size")
        assert isinstance(buffer_size, int)
        self._loader = Loader(self._executor, buffer_size, self._clock, TransactionSurvivors, self._holds)
        loop = asyncio.get_running_loop()
        return TransactionCoordinator(
            self._config,
            self._partitions,
            self._clock,
            self._loader.load,
            self._holds.named_later("transaction coordinator timer", loop.call_later),
            self._holds.named("transaction coordinator writes", loop.call_soon),
            self._groups,
            self._take_producer_id,
        )

    def _take_producer_id(self) -> int | None:
        """An unused id, or None while the next block of them is fetched: whoever needs one asks again."""
        producer_id = self._producer_ids.next_if_ready()
        if producer_id is None and (self._next_block is None or self._next_block.done()):
            self._next_block = asyncio.get_running_loop().create_task(self._fetch_block())
        return producer_id

    async def _fetch_block(self) -> None:
        try:
            await self._store.run(self._producer_ids.next_producer_id)
        except Exception:
            logger.exception("No producer ids can be had; it is tried again when one is needed")

    async def stop(self) -> None:
        await super().stop()
        if self._next_block is not None:
            await self._next_block
