"""This broker as a member of its cluster: it reacts to the others, and registers again after its session.

The controller's decisions run on the store's thread, one after the other. Changes that arrive while it
decides are decided upon afterwards, together.
"""

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from barnabas.broker.store_thread import StoreThread
from barnabas.controller.controller import Controller
from barnabas.metadata.cluster import ClusterChange
from barnabas.metadata.membership import LogHistory, Membership
from barnabas.metadata.store import MetadataStore, StoreError

logger = logging.getLogger("broker")

_BACKOFF_SECONDS = 0.5


class ClusterMember:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        store: MetadataStore,
        thread: StoreThread,
        membership: Membership,
        controller: Controller,
        resign: Callable[[], None] = lambda: None,
    ) -> None:
        """`resign` ends every leadership of this broker: other brokers are elected when a session expires."""
        self._store: MetadataStore = store
        self._thread: StoreThread = thread
        self._membership: Membership = membership
        self._controller: Controller = controller
        self._resign: Callable[[], None] = resign
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._must_react: bool = False
        self._is_expired: bool = False
        self._failed_replicas: frozenset[tuple[UUID, int]] = frozenset()
        """Those that the registration does not name yet."""

    def start(self) -> None:
        """Follow the cluster. Brokers that registered before this are noticed now."""
        self._store.on_expired(self._on_expired_elsewhere)
        self._wake()

    def on_change(self, change: ClusterChange) -> None:
        if change.brokers_changed or change.controller_changed or _has_new_topic_without_state(change):
            self._wake()

    def on_configs_applied(self, change: ClusterChange) -> None:
        """The settings of topics and brokers are in force here: the controller's policy knows them now."""
        if change.topic_configs or change.broker_configs:
            self._wake()

    def report_offline(self, replicas: frozenset[tuple[UUID, int]]) -> None:
        """The log directory of these replicas has failed: others are to lead."""
        self._failed_replicas |= replicas
        self._wake()

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _on_expired_elsewhere(self) -> None:
        """Called on a thread of the store."""
        self._loop.call_soon_threadsafe(self._on_expired)

    def _on_expired(self) -> None:
        logger.warning("The session of this broker in the metadata store has expired: it registers again")
        self._is_expired = True
        self._resign()
        self._wake()

    def _wake(self) -> None:
        self._must_react = True
        if self._task is None:
            self._task = self._loop.create_task(self._run())

    async def _run(self) -> None:
        while self._must_react:
            self._must_react = False
            try:
                if self._is_expired:
                    await self._thread.run(self._register_again)
                    self._is_expired = False
                failed = self._failed_replicas
                if failed:
                    await self._thread.run(self._membership.report_offline, failed)
                    self._failed_replicas -= failed
                await self._thread.run(self._controller.react)
            except StoreError as error:
                logger.error("Cannot follow the cluster; retrying: %s", error)
                self._must_react = True
                await asyncio.sleep(_BACKOFF_SECONDS)
        self._task = None

    def _register_again(self) -> None:
        self._store.renew()
        self._membership.register(LogHistory())  # This process has its logs: nothing was lost.


def _has_new_topic_without_state(change: ClusterChange) -> bool:
    """A tool of the ZooKeeper era creates a topic's node and leaves the states to the controller."""
    topics = (change.image.topics.get(name) for name in change.topics)
    return any(
        partition.state_version < 0
        for topic in topics
        if topic is not None
        for partition in topic.partitions.values()
    )
