"""A coordinator of this broker, made when it is first needed.

Its modules are much of what the broker loads, and many a broker in a test or at the edge never sees a group
or a transaction: it comes into being with the first request for one, or when the cluster has its topic.
"""

from abc import ABC, abstractmethod
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.metadata.image import ClusterImage
from barnabas.replication.partitions import Partitions

if TYPE_CHECKING:
    from barnabas.coordinator.runtime.loader import Loader


class Hosted(Protocol):
    """A coordinator as its host sees it."""

    def follow(self, image: ClusterImage) -> None: ...

    def configure(self, config: BrokerConfig) -> None: ...

    def expire(self) -> object: ...

    def stop(self) -> None: ...


C = TypeVar("C", bound=Hosted)


class CoordinatorHost(ABC, Generic[C]):
    def __init__(
        self,
        topic: str,
        config: BrokerConfig,
        partitions: Partitions,
        clock: Clock,
        executor: Executor,
        holds: LoopHolds,
    ) -> None:
        self._topic: str = topic
        self._config: BrokerConfig = config
        self._partitions: Partitions = partitions
        self._clock: Clock = clock
        self._executor: Executor = executor
        self._holds: LoopHolds = holds
        self._image: ClusterImage = ClusterImage()
        self._is_started: bool = False
        self._coordinator: C | None = None
        self._loader: Loader | None = None

    @abstractmethod
    def _build(self) -> C:
        """The coordinator, on the running loop; sets `_loader`."""

    def get(self) -> C:
        if self._coordinator is None:
            self._coordinator = self._build()
            self._coordinator.follow(self._image)
        return self._coordinator

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
        elif self._topic in image.topics:
            self.get()

    def configure(self, config: BrokerConfig) -> None:
        self._config = config
        if self._coordinator is not None:
            self._coordinator.configure(config)

    def expire(self) -> None:
        """Forget what has outlived its time."""
        if self._coordinator is not None:
            self._coordinator.expire()

    async def stop(self) -> None:
        """Answer everybody who waits; nothing is loaded any more."""
        if self._loader is not None:
            await self._loader.stop()
        if self._coordinator is not None:
            self._coordinator.stop()
