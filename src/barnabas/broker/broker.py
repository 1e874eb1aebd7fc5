"""One broker: every part is built and connected here, started in order, stopped in reverse.

Start: bind the listeners, open the metadata store, lock the log directories, recover after an unclean
shutdown, register, create the partitions, accept connections. Stop: stop accepting, complete running
requests, close connections, flush and close the logs, write the checkpoints and the clean-shutdown marker,
end the store's session (which unregisters the broker).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from uuid import UUID

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.descriptors import DescriptorLimits
from barnabas.base.errors import StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition, encode_uuid, random_uuid
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.builder import Builder, build_controller, build_logs
from barnabas.broker.cleaner import LogCleaner
from barnabas.broker.cluster_member import ClusterMember
from barnabas.broker.environment import Environment
from barnabas.broker.group_host import GroupHost
from barnabas.broker.housekeeping import Housekeeping
from barnabas.broker.identity import known_cluster_id, log_history, with_known_node_id
from barnabas.broker.known_storage import (
    check_directories,
    check_partitions,
    check_store,
    directories_to_remember,
    find_store,
)
from barnabas.broker.leader_balance import LeaderBalance
from barnabas.broker.limits import raise_open_files_limit
from barnabas.broker.maintenance_context import MaintenanceContext
from barnabas.broker.metadata_changes import MetadataChanges
from barnabas.broker.replication import Replication
from barnabas.broker.scheduler import Scheduler
from barnabas.broker.socket_options import socket_options
from barnabas.broker.store_thread import StoreThread
from barnabas.broker.transaction_host import TransactionHost
from barnabas.broker.unlinker import Unlinker
from barnabas.controller.controller import Controller
from barnabas.handlers.contexts import Contexts
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.held_request import note_frame
from barnabas.handlers.pipeline import Stage
from barnabas.handlers.routes import Routes
from barnabas.metadata.cluster import ClusterChange, ClusterMetadata
from barnabas.metadata.log_directories import read_log_directories, write_log_directories
from barnabas.metadata.membership import Membership
from barnabas.metadata.store import MetadataStore, StoreError
from barnabas.network.request_memory import RequestMemory
from barnabas.network.server import Server
from barnabas.network.slices import Slices
from barnabas.replication.flusher import Flusher
from barnabas.replication.partitions import Partitions
from barnabas.storage.log_directory import LogDirectory, LogDirectoryError
from barnabas.storage.logs import Logs

logger = logging.getLogger("broker")

_DRAIN_SECONDS = 5.0


class Broker:
    """Belongs to the event loop that calls `start`. Attributes set there exist from then on."""

    def __init__(
        self,
        config: BrokerConfig,
        environment: Environment | None = None,
        *,
        stages: Sequence[Stage] = (),
    ) -> None:
        """Every request passes `stages` (`handlers.pipeline`)."""
        self.settings: CurrentConfig = CurrentConfig(config)
        self.failure: StorageError | None = None
        """Why the broker had to stop, once `failed` is set."""
        self.failed: asyncio.Event = asyncio.Event()
        self._environment: Environment = environment or Environment()
        self.holds: LoopHolds = self._environment.holds
        """Requests and jobs that held the event loop longer than allowed."""
        self._request_memory: RequestMemory = RequestMemory(config.queued_max_request_bytes)
        self._slices: Slices = Slices(self.holds.clock)
        self._stages: Sequence[Stage] = stages
        self._fs: FileSystem = self._environment.fs
        self._follows_changes: bool = False
        """False while the broker starts: the first image is applied as a whole, and nothing in it is new."""
        self._ports: dict[str, int] = {}
        self._undo: list[Callable[[bool], Awaitable[None]]] = []

    @property
    def config(self) -> BrokerConfig:
        """The configuration as it is now."""
        return self.settings.value

    @property
    def is_running(self) -> bool:
        """Whether a part was started that has to be stopped."""
        return bool(self._undo)

    @property
    def port(self) -> int:
        """The bound port of the first listener."""
        return self._ports[self.config.listeners[0].name]

    # --- start ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the broker. Raises OSError or KafkaError if that fails, after stopping what was started."""
        try:
            await self._start()
        except BaseException as error:
            await self.stop(clean=False)
            if isinstance(error, (StoreError, LogDirectoryError)):
                raise StorageError(str(error)) from error
            raise

    async def _start(self) -> None:
        self._descriptors: DescriptorLimits = raise_open_files_limit()
        self.settings.replace(with_known_node_id(self.config, self._fs))
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._bind()
        self._start_threads()
        await self._open_store()
        await self._open_logs()
        self._build_parts()
        await self._join_cluster()
        self._partitions.follow(self._cluster.image, is_new=False)
        if not self._membership.is_active:
            self._partitions.resign()  # The controller elects again when it activates this registration.
        self._follows_changes = True
        self._member.start()
        self.settings.take_dynamic(self._cluster.image.broker_configs)
        self._set_strays_aside()
        if self._replication.moves is not None:
            self._replication.moves.resume()
        self._housekeeping.start()
        self._leader_balance.start()
        self._cleaner.start()
        self._server.start(self._dispatcher.on_frame)
        self._groups.start(self._cluster.image)
        self._transactions.start(self._cluster.image)
        logger.info("Broker %d listens on port %d", self.config.broker_id, self.port)

    def _bind(self) -> None:
        """The first step: a port that is in use ends the start before any file is changed."""
        options = socket_options(self.config, self._descriptors.for_connections)
        on_held = partial(note_frame, self.holds)
        self._server: Server = Server(
            options, self.holds, on_held, self._make_room, self._request_memory, self._environment.listen
        )
        self._undo.append(self._stop_server)
        for listener in self.config.listeners:
            self._ports[listener.name] = self._server.bind(listener.name, listener.host, listener.port)

    def _start_threads(self) -> None:
        make_thread = self._environment.make_thread
        self._executor: Executor = self._environment.make_executor(self.config.background_threads)
        self._route_thread: Executor = make_thread("routes")
        self._store_thread: StoreThread = StoreThread(make_thread("store"))
        self._unlinker: Unlinker = Unlinker(self._loop, self._executor)
        self._flusher: Flusher = Flusher(self._loop, self._executor, self.holds)
        self._undo.append(self._stop_threads)

    async def _open_store(self) -> None:
        run = self._store_thread.run
        path = find_store(self.config)
        await run(check_store, self.config, path, self._fs)
        open_store = self._environment.open_store
        self._store: MetadataStore = await run(open_store, path, self.config.session_timeout_ms)
        self._undo.append(self._stop_store)
        self._cluster: ClusterMetadata = ClusterMetadata(self._store)
        known = known_cluster_id(self.config, self._fs)
        cluster_id = known or encode_uuid(random_uuid(self._environment.rng))
        await run(self._cluster.load, cluster_id)
        self._cluster.subscribe(self._on_change_elsewhere)
        self.settings.take_dynamic(self._cluster.image.broker_configs)

    async def _open_logs(self) -> None:
        self._logs: Logs = build_logs(
            self.settings,
            self._cluster,
            self._environment,
            self._descriptors,
            self._on_offline,
            self._unlinker,
        )
        run, broker_id = self._store_thread.run, self.config.broker_id
        known = await run(read_log_directories, self._store, broker_id)
        try:
            await run(check_directories, self.config, known, self._fs)
        except StorageError as error:
            other = self._cluster.image.registrations.get(broker_id)
            if other is None or not other.is_alive:
                raise
            # The directories are missing because they are those of the other broker.
            raise StorageError(f"broker id {broker_id} is in use by another running broker") from error
        await run(check_partitions, self.config, self._cluster.image, self._fs)
        self._undo.append(self._stop_logs)
        await self._loop.run_in_executor(self._executor, self._logs.open_all)
        found = directories_to_remember(self._logs.directories, known)
        await run(write_log_directories, self._store, broker_id, found)
        self._logs.workers.start(self._loop.call_soon_threadsafe)

    def _build_parts(self) -> None:
        listeners = self.config.advertised(self._ports)
        self._membership: Membership
        self._controller: Controller
        self._membership, self._controller = build_controller(
            self.settings, self._cluster, self._environment, listeners
        )
        self._replication: Replication = Replication(
            self.settings,
            self._environment,
            self._cluster,
            self._membership,
            self._controller,
            self._store_thread,
            self._loop,
        )
        parts = Builder(
            self.settings,
            self._environment,
            self._store,
            self._store_thread,
            self._cluster,
            self._logs,
            self._flusher,
            self._executor,
            Scheduler.of(self._loop, self.holds),
            self._slices,
            self._request_memory,
            self._replication,
        ).build()
        self._partitions: Partitions = parts.partitions
        self._groups: GroupHost = parts.groups
        self._transactions: TransactionHost = parts.transactions
        self._changes: MetadataChanges = MetadataChanges(self._apply, self._slices, self.holds)
        self._store_thread.when_applied = self._changes.applied
        self.contexts: Contexts = parts.contexts
        routes = Routes(parts.contexts, self._route_thread)
        self._dispatcher: Dispatcher = Dispatcher(parts.contexts, self._loop, routes, self._stages)
        self._build_maintenance()
        self._undo += [self._stop_housekeeping, self._stop_replication]

    def _build_maintenance(self) -> None:
        context = MaintenanceContext(
            self.settings, self._environment.clock, self._logs, self._executor, self.holds
        )
        self._housekeeping: Housekeeping = Housekeeping(
            context, self._flusher, self._groups, self._transactions, self._partitions
        )
        self._leader_balance: LeaderBalance = LeaderBalance(
            self.settings, self._controller, self._store_thread, self.holds
        )
        flush = self._flusher.request_due
        self._cleaner: LogCleaner = LogCleaner(context, self._fs, self._unlinker, flush)

    async def _join_cluster(self) -> None:
        run = self._store_thread.run
        self._membership.offline_replicas = self._offline_replicas()
        await run(self._membership.join, log_history(self._logs.directories))
        await run(self._controller.react)
        self._member: ClusterMember = ClusterMember(
            self._store, self._store_thread, self._membership, self._controller, self._partitions.resign
        )
        self._undo.append(self._stop_member)

    def _set_strays_aside(self) -> None:
        image, broker_id = self._cluster.image, self.config.broker_id
        for name in self._logs.strays(lambda name: image.partition(*name) is not None):
            path = self._logs.path_of(name)
            logger.warning("%s belongs to no topic and is not used; `barnabas adopt` registers it", path)
        for name in self._logs.strays(lambda name: broker_id in image.replicas(*name)):
            if any(each in image.registrations for each in image.replicas(*name)):
                logger.warning("%s was reassigned to other brokers. Its log is set aside as stray.", name)
                self._partitions.set_aside(name)

    # --- running --------------------------------------------------------------------------------------

    def _make_room(self) -> bool:
        """File descriptors are short: close some idle log files for a connection."""
        return self._logs.release_files(keep=self._descriptors.reserve) > 0

    def _on_change_elsewhere(self, change: ClusterChange) -> None:
        """Called on the store's thread, or that of its watches."""
        self._loop.call_soon_threadsafe(self._on_change, change)

    def _on_change(self, change: ClusterChange) -> None:
        """Called on the loop: the cluster metadata has changed from one image to the next."""
        if self._follows_changes:
            self._note_deletions(change)
            self._changes.add(change)
            self._member.on_change(change)
            self.contexts.forwarding.on_change(change)

    def _note_deletions(self, change: ClusterChange) -> None:
        """Wherever a topic was deleted: no client of this broker creates it again by naming it."""
        deleted = [name for name in change.topics if name not in change.image.topics]
        if deleted:
            self.contexts.topics.deleted_topics.note(deleted, self._environment.clock.monotonic())

    def _apply(self, change: ClusterChange) -> Iterator[None]:
        for name in sorted(change.topics):
            topic = change.image.topics.get(name)
            if topic is None:
                self._partitions.remove_topic(name)
            else:
                yield from self._partitions.follow_in_steps(topic)
            yield
        if change.broker_configs:
            self.settings.take_dynamic(change.image.broker_configs)
        for name in change.image.topics if change.broker_configs else sorted(change.topic_configs):
            self._partitions.apply_config(name)
            yield
        self._member.on_configs_applied(change)
        self._groups.follow(change.image, change.topics)
        self._transactions.follow(change.image, change.topics)

    def _on_offline(self, directory: LogDirectory, error: OSError) -> None:
        """Called on any thread: a log directory has failed."""
        if any(each.is_online for each in self._logs.directories):
            self._loop.call_soon_threadsafe(self._report_offline)
            return
        self.failure = StorageError(f"no log directory is left: {directory.path}: {error}")
        self._loop.call_soon_threadsafe(self.failed.set)

    def _report_offline(self) -> None:
        if self._follows_changes:  # Otherwise the registration will name them.
            self._member.report_offline(self._offline_replicas())

    def _offline_replicas(self) -> frozenset[tuple[UUID, int]]:
        """Topic id and partition of the replicas here whose log directory has failed."""
        if all(each.is_online for each in self._logs.directories):
            return frozenset()
        return frozenset(
            (topic.topic_id, number)
            for topic in self._cluster.image.topics.values()
            for number, partition in topic.partitions.items()
            if self.config.broker_id in partition.replicas
            and self._logs.is_offline(TopicPartition(topic.name, number))
        )

    # --- stop -----------------------------------------------------------------------------------------

    async def stop(self, *, clean: bool = True) -> None:
        """Stop in reverse order of the start. `clean=False` leaves the files as a crash would."""
        while self._undo:
            step = self._undo.pop()
            try:
                await step(clean)
            except Exception:
                logger.exception(
                    "Unexpected error while stopping a part of the broker; the other parts are stopped"
                )

    async def _stop_member(self, clean: bool) -> None:
        if clean:
            await self._replication.hand_over()
        await self._member.stop()

    async def _stop_replication(self, clean: bool) -> None:
        await self._replication.stop()

    async def _stop_housekeeping(self, clean: bool) -> None:
        self._server.stop_accepting()
        await self._housekeeping.stop()
        await self._leader_balance.stop()
        await self._cleaner.stop()
        if clean:
            self._server.stop_dispatching()
            await self._dispatcher.begun()
            self._partitions.answer_parked()
        await self._transactions.stop()
        await self._groups.stop()
        if clean:
            await self._server.drain(_DRAIN_SECONDS)
            await self._dispatcher.drain()
            await self._changes.applied()
            self._partitions.finish_deletions()
        await self._changes.stop()
        self._server.close()
        await self._flusher.drain()

    async def _stop_logs(self, clean: bool) -> None:
        self._unlinker.stop()
        await self._loop.run_in_executor(self._executor, self._logs.workers.stop)
        if clean:
            epoch = self._membership.epoch
            await self._loop.run_in_executor(self._executor, self._logs.clean_shutdown, epoch)
        else:
            self._logs.abandon()

    async def _stop_store(self, clean: bool) -> None:
        await self._store_thread.run(self._cluster.close)
        await self._store_thread.run(self._store.close)

    async def _stop_threads(self, clean: bool) -> None:
        self._unlinker.stop()
        self._store_thread.close()
        await asyncio.to_thread(self._route_thread.shutdown)
        await asyncio.to_thread(self._executor.shutdown)

    async def _stop_server(self, clean: bool) -> None:
        self._server.close()
