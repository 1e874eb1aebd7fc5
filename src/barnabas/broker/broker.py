"""One broker: every part built and joined here, started in order, stopped in reverse.

Start: bind the listeners, open the metadata store, claim the log directories and recover what an unclean
stop left, register, take over the topics, accept connections.
Stop: stop accepting, answer what is under way, close connections, flush and close the logs, write the
checkpoints and the clean-shutdown marker, end the store's session (which unregisters the broker).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from uuid import UUID

from barnabas.base.background_threads import BackgroundThreads
from barnabas.base.clock import Clock, SystemClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.keys import ConfigError
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.topic_config import resolve_log_config
from barnabas.base.descriptors import DescriptorLimits
from barnabas.base.errors import StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.cleaner import LogCleaner
from barnabas.broker.group_host import GroupHost
from barnabas.broker.housekeeping import Housekeeping
from barnabas.broker.identity import known_cluster_id, with_known_node_id
from barnabas.broker.known_storage import (
    check_directories,
    check_partitions,
    check_store,
    directories_to_remember,
    find_store,
)
from barnabas.broker.limits import raise_open_files_limit
from barnabas.broker.metadata_changes import MetadataChanges
from barnabas.broker.store_thread import StoreThread
from barnabas.broker.transaction_host import TransactionHost
from barnabas.broker.unlinker import Unlinker
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.elections import elect_on_start
from barnabas.controller.producer_ids import ProducerIds
from barnabas.controller.topics import TopicAdmin
from barnabas.handlers.context import Context
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.held_request import note_frame
from barnabas.metadata.cluster import ClusterChange, ClusterMetadata
from barnabas.metadata.log_directories import read_log_directories, write_log_directories
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import StoreError
from barnabas.network.connection import Connection
from barnabas.network.request_memory import RequestMemory
from barnabas.network.responses import Parts, Pending
from barnabas.network.server import Server, SocketOptions
from barnabas.network.slices import Slices
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.flusher import Flusher
from barnabas.replication.partitions import Partitions
from barnabas.storage.log_directory import LogDirectory, LogDirectoryError
from barnabas.storage.logs import Logs, LogsSettings

logger = logging.getLogger("broker")

_DRAIN_SECONDS = 5.0


class Broker:
    """Lives on the event loop that calls `start`. Attributes set there exist from then on."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        fs: FileSystem | None = None,
        holds: LoopHolds | None = None,
    ) -> None:
        self.config: BrokerConfig = config
        self.failure: StorageError | None = None
        """Why the broker cannot go on, once `failed` is set."""
        self.failed: asyncio.Event = asyncio.Event()
        self.holds: LoopHolds = holds or LoopHolds()
        """Requests and jobs that held the event loop longer than allowed."""
        self._request_memory: RequestMemory = RequestMemory(config.queued_max_request_bytes)
        self._slices: Slices = Slices(self.holds.clock)
        self._clock: Clock = clock or SystemClock()
        self._fs: FileSystem = fs or FileSystem()
        self._follows_changes: bool = False
        """Not while the broker starts: what it finds then is taken over whole, and none of it is new."""
        self._ports: dict[str, int] = {}
        self._undo: list[Callable[[bool], Awaitable[None]]] = []

    @property
    def is_running(self) -> bool:
        """Something was started that has to be stopped."""
        return bool(self._undo)

    @property
    def port(self) -> int:
        """The port of the first listener, as bound."""
        return self._ports[self.config.listeners[0].name]

    # --- start ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Raises OSError or KafkaError when it cannot; nothing is left behind."""
        try:
            await self._start()
        except BaseException as error:
            await self.stop(clean=False)
            if isinstance(error, (StoreError, LogDirectoryError)):
                raise StorageError(str(error)) from error
            raise

    async def _start(self) -> None:
        self._descriptors: DescriptorLimits = raise_open_files_limit()
        self.config = with_known_node_id(self.config, self._fs)
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._bind()
        self._start_threads()
        await self._open_store()
        await self._open_logs()
        self._build_handlers()
        await self._join_cluster()
        self._partitions.follow(self._cluster.image, is_new=False)
        self._follows_changes = True
        self._take_dynamic_config()
        self._report_strays()
        self._housekeeping.start()
        self._cleaner.start()
        self._server.start()
        self._groups.start(self._cluster.image)
        self._transactions.start(self._cluster.image)
        logger.info("Broker %d listens on port %d", self.config.broker_id, self.port)

    def _bind(self) -> None:
        """First of all: a port that is taken stops the start before any file is touched."""
        options = _socket_options(self.config, self._descriptors.for_connections)
        on_held = partial(note_frame, self.holds)
        self._server: Server = Server(
            options, self._on_frame, self.holds, on_held, self._make_room, self._request_memory
        )
        self._undo.append(self._stop_server)
        for listener in self.config.listeners:
            self._ports[listener.name] = self._server.bind(listener.name, listener.host, listener.port)

    def _start_threads(self) -> None:
        self._executor: BackgroundThreads = BackgroundThreads(self.config.background_threads)
        self._store_thread: StoreThread = StoreThread()
        self._unlinker: Unlinker = Unlinker(self._loop, self._executor)
        self._flusher: Flusher = Flusher(self._loop, self._executor, self.holds)
        self._undo.append(self._stop_threads)

    async def _open_store(self) -> None:
        run = self._store_thread.run
        path = find_store(self.config)
        await run(check_store, self.config, path, self._fs)
        self._store: SqliteStore = await run(SqliteStore, path)
        self._undo.append(self._stop_store)
        self._cluster: ClusterMetadata = ClusterMetadata(self._store, self._clock)
        await run(self._cluster.load, known_cluster_id(self.config, self._fs))
        self._cluster.subscribe(self._on_change_elsewhere)
        self._take_dynamic_config()

    async def _open_logs(self) -> None:
        settings = LogsSettings(
            self.config.broker_id,
            self._cluster.cluster_id(),
            recovery_threads=self.config.num_recovery_threads_per_data_dir,
            producer_expiration_ms=self.config.producer_id_expiration_ms,
            descriptors=self._descriptors,
        )
        self._logs: Logs = Logs(
            self.config.log_dirs,
            settings,
            self._log_config_of,
            fs=self._fs,
            clock=self._clock,
            on_offline=self._on_offline,
            on_deleted=self._unlinker,
            topic_id_of=self._topic_id_of,
        )
        run, broker_id = self._store_thread.run, self.config.broker_id
        known = await run(read_log_directories, self._store, broker_id)
        await run(check_directories, self.config, known, self._fs)
        await run(check_partitions, self.config, self._cluster.image, self._fs)
        self._undo.append(self._stop_logs)
        await self._loop.run_in_executor(self._executor, self._logs.open_all)
        found = directories_to_remember(self._logs.directories, known)
        await run(write_log_directories, self._store, broker_id, found)
        self._logs.workers.start(self._loop.call_soon_threadsafe)

    def _build_handlers(self) -> None:
        self._partitions: Partitions = Partitions(
            self.config.broker_id,
            self._logs,
            self._flusher,
            self._log_config_of,
            self.holds.named("log creation and deletion", self._loop.call_soon),
        )
        self._build_coordinators()
        self._topics: TopicAdmin = TopicAdmin(self._cluster, self.config)
        self._configs: ConfigAdmin = ConfigAdmin(self._cluster, self.config)
        self._context: Context = Context(
            config=self.config,
            clock=self._clock,
            cluster=self._cluster,
            topics=self._topics,
            configs=self._configs,
            producer_ids=self._producer_ids,
            partitions=self._partitions,
            logs=self._logs,
            fetch_sessions=FetchSessions(self.config.max_incremental_fetch_session_cache_slots, self._clock),
            store=self._store_thread,
            group_host=self._groups,
            transaction_host=self._transactions,
            executor=self._executor,
            holds=self.holds,
            slices=self._slices,
            request_memory=self._request_memory,
        )
        self._changes: MetadataChanges = MetadataChanges(self._apply, self._slices, self.holds)
        self._store_thread.when_applied = self._changes.applied
        self._dispatcher: Dispatcher = Dispatcher(self._context, self._loop)
        self._housekeeping: Housekeeping = Housekeeping(
            self._context, self._flusher, self._groups, self._transactions
        )
        flush = self._flusher.request_due
        self._cleaner: LogCleaner = LogCleaner(self._context, self._fs, self._unlinker, flush)
        self._undo.append(self._stop_housekeeping)

    def _build_coordinators(self) -> None:
        self._producer_ids: ProducerIds = ProducerIds(self._store, self.config.broker_id)
        self._groups: GroupHost = GroupHost(
            self.config, self._partitions, self._clock, self._executor, self.holds
        )
        self._transactions: TransactionHost = TransactionHost(
            self.config,
            self._partitions,
            self._clock,
            self._executor,
            self.holds,
            self._groups.get,
            self._producer_ids,
            self._store_thread,
        )

    async def _join_cluster(self) -> None:
        run, broker_id = self._store_thread.run, self.config.broker_id
        await run(self._topics.assign_missing_ids)
        await run(self._cluster.join, broker_id, self.config.advertised(self._ports), self.config.rack)
        unclean = any(not directory.was_clean for directory in self._logs.directories)
        await run(elect_on_start, self._cluster, broker_id, unclean=unclean)

    def _report_strays(self) -> None:
        def is_known(name: tuple[str, int]) -> bool:
            return self._cluster.image.partition(*name) is not None

        for path in self._logs.strays(is_known):
            logger.warning(
                "%s belongs to no topic and is left alone; `barnabas adopt` would register it", path
            )

    # --- at work --------------------------------------------------------------------------------------

    def _on_frame(self, connection: Connection, frame: memoryview) -> Parts | Pending | None:
        return self._dispatcher.on_frame(connection, frame)

    def _make_room(self) -> bool:
        """Descriptors are short: close idle log files for a connection, but not all of them."""
        return self._logs.release_files(keep=self._descriptors.reserve) > 0

    def _log_config_of(self, topic: str) -> LogConfig:
        overrides = self._cluster.image.topic_configs.get(topic)
        defaults = self.config.log_defaults()
        if not overrides:
            return defaults
        try:
            return resolve_log_config(overrides, defaults)
        except ConfigError as error:
            # Written by a tool that does not validate: the topic works on with the broker's defaults.
            logger.error("The configuration of topic %s is ignored: %s", topic, error)
            return defaults

    def _topic_id_of(self, topic: str) -> UUID | None:
        found = self._cluster.image.topics.get(topic)
        return None if found is None else found.topic_id

    def _on_change_elsewhere(self, change: ClusterChange) -> None:
        """On the store's thread, or that of its watches."""
        self._loop.call_soon_threadsafe(self._on_change, change)

    def _on_change(self, change: ClusterChange) -> None:
        """On the loop: the cluster's metadata moved from one image to the next."""
        if self._follows_changes:
            self._changes.add(change)

    def _apply(self, change: ClusterChange) -> Iterator[None]:
        for name in change.topics:
            topic = change.image.topics.get(name)
            if topic is None:
                self._partitions.remove_topic(name)
            else:
                yield from self._partitions.follow_in_steps(topic)
            yield
        if change.broker_configs:
            self._take_dynamic_config()
        for name in change.image.topics if change.broker_configs else change.topic_configs:
            self._partitions.apply_config(name)
            yield
        self._groups.follow(change.image)
        self._transactions.follow(change.image)

    def _take_dynamic_config(self) -> None:
        configs = self._cluster.image.broker_configs
        own, shared = configs.get(str(self.config.broker_id), {}), configs.get("", {})
        if own == self.config.dynamic and shared == self.config.dynamic_defaults:
            return
        try:
            self.config = self.config.with_dynamic(own, shared)
        except ConfigError as error:
            logger.error("The dynamic configuration of this broker is ignored: %s", error)
            return
        if hasattr(self, "_context"):
            self._context.config = self._topics.settings = self._configs.settings = self.config
            self._groups.configure(self.config)
            self._transactions.configure(self.config)

    def _on_offline(self, directory: LogDirectory, error: OSError) -> None:
        if any(each.is_online for each in self._logs.directories):
            return
        self.failure = StorageError(f"no log directory is left: {directory.path}: {error}")
        self._loop.call_soon_threadsafe(self.failed.set)

    # --- stop -----------------------------------------------------------------------------------------

    async def stop(self, *, clean: bool = True) -> None:
        """Stop in reverse order of the start; `clean=False` leaves the files as a crash would."""
        while self._undo:
            step = self._undo.pop()
            try:
                await step(clean)
            except Exception:
                logger.exception("A part of the broker did not stop as it should; the others are stopped")

    async def _stop_housekeeping(self, clean: bool) -> None:
        self._server.stop_accepting()
        await self._housekeeping.stop()
        await self._cleaner.stop()
        if clean:
            self._server.stop_dispatching()
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
            await self._loop.run_in_executor(self._executor, self._logs.clean_shutdown)
        else:
            self._logs.abandon()

    async def _stop_store(self, clean: bool) -> None:
        await self._store_thread.run(self._cluster.close)
        await self._store_thread.run(self._store.close)

    async def _stop_threads(self, clean: bool) -> None:
        self._unlinker.stop()
        self._store_thread.close()
        await asyncio.to_thread(self._executor.shutdown)

    async def _stop_server(self, clean: bool) -> None:
        self._server.close()


def _socket_options(config: BrokerConfig, max_descriptor: int) -> SocketOptions:
    def when_set(key: str) -> int:
        # Kafka's default of 100 KiB is for older kernels: unless it is asked for, the kernel tunes it.
        value = config.get(key) if config.is_set(key) else -1
        assert isinstance(value, int)
        return value

    return SocketOptions(
        max_frame=config.socket_request_max_bytes,
        send_buffer=when_set("socket.send.buffer.bytes"),
        receive_buffer=when_set("socket.receive.buffer.bytes"),
        max_idle_seconds=config.connections_max_idle_ms / 1000,
        max_connections=config.max_connections,
        max_descriptor=max_descriptor,
    )
