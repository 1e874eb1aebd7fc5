"""The group coordinator of this broker, made when it is first needed."""

import asyncio
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.coordinator_host import CoordinatorHost
from barnabas.coordinator.internal_topics import CONSUMER_OFFSETS
from barnabas.replication.partitions import Partitions

if TYPE_CHECKING:
    from barnabas.coordinator.group_coordinator import GroupCoordinator


class GroupHost(CoordinatorHost["GroupCoordinator"]):
    def __init__(
        self,
        config: BrokerConfig,
        partitions: Partitions,
        clock: Clock,
        executor: Executor,
        holds: LoopHolds,
    ) -> None:
        super().__init__(CONSUMER_OFFSETS, config, partitions, clock, executor, holds)

    def _build(self) -> "GroupCoordinator":
        from barnabas.coordinator.group_coordinator import GroupCoordinator
        from barnabas.coordinator.runtime.group_survivors import GroupSurvivors
        from barnabas.coordinator.runtime.loader import Loader

        buffer_size = self._config.offsets_load_buffer_size
        self._loader = Loader(self._executor, buffer_size, self._clock, GroupSurvivors, self._holds)
        loop = asyncio.get_running_loop()
        return GroupCoordinator(
            self._config,
            self._partitions,
            self._clock,
            self._loader.load,
            self._holds.named_later("group coordinator timer", loop.call_later),
            self._holds.named("group coordinator writes", loop.call_soon),
        )
