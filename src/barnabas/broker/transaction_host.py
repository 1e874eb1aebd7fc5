"""The transaction coordinator of this broker, created when it is first needed."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.coordinator_host import CoordinatorHost
from barnabas.broker.scheduler import Scheduler
from barnabas.controller.producer_ids import ProducerIds
from barnabas.handlers.context import StoreThread
from barnabas.replication.partitions import Partitions
from barnabas.runtime.internal_topics import TRANSACTION_STATE

if TYPE_CHECKING:
    from barnabas.group.coordinator import GroupCoordinator
    from barnabas.transaction.coordinator import TransactionCoordinator
    from barnabas.transaction.peers import Peers

logger = logging.getLogger("broker")


class TransactionHost(CoordinatorHost["TransactionCoordinator"]):
    MODULES = (
        "barnabas.transaction.coordinator",
        "barnabas.transaction.survivors",
        "barnabas.runtime.loader",
    )

    def __init__(
        self,
        config: BrokerConfig,
        partitions: Partitions,
        clock: Clock,
        executor: Executor,
        holds: LoopHolds,
        scheduler: Scheduler,
        groups: Callable[[], "GroupCoordinator"],
        producer_ids: ProducerIds,
        store: StoreThread,
        peers: "Peers | None" = None,
    ) -> None:
        super().__init__(TRANSACTION_STATE, config, partitions, clock, executor, holds, scheduler)
        self._groups: Callable[[], GroupCoordinator] = groups
        self._producer_ids: ProducerIds = producer_ids
        self._store: StoreThread = store
        self._peers: Peers | None = peers
        self._next_block: asyncio.Task[None] | None = None

    def _build(self) -> "TransactionCoordinator":
        from barnabas.runtime.loader import Loader
        from barnabas.transaction.coordinator import TransactionCoordinator
        from barnabas.transaction.survivors import TransactionSurvivors

        buffer_size = self._config.get("transaction.state.log.load.buffer.size")
        assert isinstance(buffer_size, int)
        self._loader = Loader(self._executor, buffer_size, self._clock, TransactionSurvivors, self._holds)
        return TransactionCoordinator(
            self._config,
            self._partitions,
            self._clock,
            self._loader.load,
            self._holds.named_later("transaction coordinator timer", self._scheduler.call_later),
            self._holds.named("transaction coordinator writes", self._scheduler.call_soon),
            self._groups,
            self._take_producer_id,
            self._peers,
        )

    def _take_producer_id(self) -> int | None:
        """Returns an unused id, or None while the next block is being fetched: the caller then retries."""
        producer_id = self._producer_ids.next_if_ready()
        if producer_id is None and (self._next_block is None or self._next_block.done()):
            self._next_block = asyncio.get_running_loop().create_task(self._fetch_block())
        return producer_id

    async def _fetch_block(self) -> None:
        try:
            await self._store.run(self._producer_ids.next_producer_id)
        except Exception:
            logger.exception("Cannot fetch a block of producer ids; it is retried when an id is needed")

    async def stop(self) -> None:
        await super().stop()
        if self._next_block is not None:
            await self._next_block
