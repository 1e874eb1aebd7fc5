"""The group coordinator of this broker, made when it is first needed.

Its modules are a quarter of all the broker loads, and many a broker in a test or at the edge never sees a
group: it comes into being with the first request for one, or when the cluster has `__consumer_offsets`.
"""

import asyncio
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.coordinator.internal_topics import CONSUMER_OFFSETS
from barnabas.metadata.image import ClusterImage
from barnabas.replication.partitions import Partitions

if TYPE_CHECKING:
    from barnabas.coordinator.group_coordinator import GroupCoordinator
    from barnabas.coordinator.runtime.loader import Loader


class GroupHost:
    def __init__(
        self, config: BrokerConfig, partitions: Partitions, clock: Clock, executor: Executor
    ) -> None:
        self._config: BrokerConfig = config
        self._partitions: Partitions = partitions
        self._clock: Clock = clock
        self._executor: Executor = executor
        self._image: ClusterImage = ClusterImage()
        self._is_started: bool = False
        self._coordinator: GroupCoordinator | None = None
        self._loader: Loader | None = None

    def get(self) -> "GroupCoordinator":
        if self._coordinator is None:
            self._coordinator = self._build()
            self._coordinator.follow(self._image)
        return self._coordinator

    def _build(self) -> "GroupCoordinator":
        from barnabas.coordinator.group_coordinator import GroupCoordinator
        from barnabas.coordinator.runtime.loader import Loader

        self._loader = Loader(self._executor, self._config.offsets_load_buffer_size, self._clock)
        loop = asyncio.get_running_loop()
        return GroupCoordinator(
            self._config, self._partitions, self._clock, self._loader.load, loop.call_later, loop.call_soon
        )

    def start(self, image: ClusterImage) -> None:
        """`Partitions` knows all that is in `image`, and from now on all that comes."""
        self._is_started = True
        self.follow(image)

    def follow(self, image: ClusterImage) -> None:
        """The cluster is as `image` says; `Partitions` knows it already."""
        if not self._is_started:
            return
        self._image = image
        if self._coordinator is not None:
            self._coordinator.follow(image)
        elif CONSUMER_OFFSETS in image.topics:
            self.get()

    def configure(self, config: BrokerConfig) -> None:
        self._config = config
        if self._coordinator is not None:
            self._coordinator.configure(config)

    def expire_offsets(self) -> None:
        if self._coordinator is not None:
            self._coordinator.expire()

    async def stop(self) -> None:
        """Answer everybody who waits; nothing is loaded any more."""
        if self._loader is not None:
            await self._loader.stop()
        if self._coordinator is not None:
            self._coordinator.stop()
