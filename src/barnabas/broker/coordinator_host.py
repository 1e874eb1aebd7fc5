"""A coordinator of this broker, created when it is first needed.

Its modules are a large part of what the broker loads, and many brokers never get a request for a group or a
transaction. So it is created for the first such request, or when the cluster has its topic. The modules take
0.1 s of CPU time, so they are imported in a thread, before the loop needs them.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection
from concurrent.futures import Executor
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.scheduler import Scheduler
from barnabas.metadata.image import ClusterImage
from barnabas.replication.partitions import Partitions

if TYPE_CHECKING:
    from barnabas.runtime.loader import Loader


class Hosted(Protocol):
    """A coordinator as its host sees it."""

    def follow(self, image: ClusterImage, changed: Collection[str] = ()) -> None: ...

    def configure(self, config: BrokerConfig) -> None: ...

    def expire(self) -> object: ...

    def stop(self) -> None: ...


C = TypeVar("C", bound=Hosted)


class CoordinatorHost(ABC, Generic[C]):
    MODULES: ClassVar[tuple[str, ...]]
    """The modules that `_build` imports."""

    def __init__(
        self,
        topic: str,
        config: BrokerConfig,
        partitions: Partitions,
        clock: Clock,
        executor: Executor,
        holds: LoopHolds,
        scheduler: Scheduler,
    ) -> None:
        self._topic: str = topic
        self._config: BrokerConfig = config
        self._partitions: Partitions = partitions
        self._clock: Clock = clock
        self._executor: Executor = executor
        self._holds: LoopHolds = holds
        self._scheduler: Scheduler = scheduler
        self._image: ClusterImage = ClusterImage()
        self._is_started: bool = False
        self._is_loaded: bool = False
        self._coordinator: C | None = None
        self._loading: asyncio.Task[None] | None = None
        self._loader: Loader | None = None

    @abstractmethod
    def _build(self) -> C:
        """Returns the coordinator. Sets `_loader`."""

    @property
    def is_made(self) -> bool:
        return self._coordinator is not None

    def load(self) -> None:
        """Import the modules of the coordinator. May be called from any thread."""
        for name in self.MODULES:
            import_module(name)
        self._is_loaded = True

    def get(self) -> C:
        if self._coordinator is None:
            self._coordinator = self._build()
            self._coordinator.follow(self._image)
        return self._coordinator

    def start(self, image: ClusterImage) -> None:
        """Begin to follow the cluster. `Partitions` has applied `image`."""
        self._is_started = True
        if self._topic in image.topics:
            self.load()
        self.follow(image)

    def follow(self, image: ClusterImage, changed: Collection[str] = ()) -> None:
        """Follow the image, which `Partitions` has already applied. `changed` has the names of topics."""
        if not self._is_started:
            return
        self._image = image
        if self._coordinator is not None:
            self._coordinator.follow(image, changed)
        elif self._topic in image.topics:
            self._make()

    def _make(self) -> None:
        if self._is_loaded:
            self.get()
        elif self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load_and_make())

    async def _load_and_make(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._executor, self.load)
        if self._topic in self._image.topics:
            self.get()
        self._loading = None

    def configure(self, config: BrokerConfig) -> None:
        self._config = config
        if self._coordinator is not None:
            self._coordinator.configure(config)

    def expire(self) -> None:
        """Remove expired state."""
        if self._coordinator is not None:
            self._coordinator.expire()

    async def stop(self) -> None:
        """Stop loading. Waiting requests fail."""
        if self._loading is not None:
            await self._loading
        if self._loader is not None:
            await self._loader.stop()
        if self._coordinator is not None:
            self._coordinator.stop()
