"""The group coordinator of this broker, created when it is first needed."""

from concurrent.futures import Executor
from random import Random
from typing import TYPE_CHECKING

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.coordinator_host import CoordinatorHost
from barnabas.broker.scheduler import Scheduler
from barnabas.replication.partitions import Partitions
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from barnabas.group.coordinator import GroupCoordinator


class GroupHost(CoordinatorHost["GroupCoordinator"]):
    MODULES = (
        "barnabas.group.coordinator",
        "barnabas.group.survivors",
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
        rng: Random,
    ) -> None:
        super().__init__(CONSUMER_OFFSETS, config, partitions, clock, executor, holds, scheduler)
        self._rng: Random = rng

    def _build(self) -> "GroupCoordinator":
        from barnabas.group.coordinator import GroupCoordinator
        from barnabas.group.survivors import GroupSurvivors
        from barnabas.runtime.loader import Loader

        buffer_size = self._config.offsets_load_buffer_size
        self._loader = Loader(self._executor, buffer_size, self._clock, GroupSurvivors, self._holds)
        return GroupCoordinator(
            self._config,
            self._partitions,
            self._clock,
            self._loader.load,
            self._holds.named_later("group coordinator timer", self._scheduler.call_later),
            self._holds.named("group coordinator writes", self._scheduler.call_soon),
            self._rng,
        )
