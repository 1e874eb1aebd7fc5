"""The composition of a broker: which part gets which others. No part is started here.

`broker.broker` starts and stops the parts, in order. A test or a simulation builds the same parts around its
own file system, clock, randomness, executor and metadata store (`broker.environment`).
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from uuid import UUID

from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.config.keys import ConfigError
from barnabas.base.config.listeners import Listener
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.topic_config import resolve_log_config
from barnabas.base.descriptors import DescriptorLimits
from barnabas.base.ids import random_uuid
from barnabas.broker.environment import Environment
from barnabas.broker.group_host import GroupHost
from barnabas.broker.replication import Replication
from barnabas.broker.scheduler import Scheduler
from barnabas.broker.transaction_host import TransactionHost
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.controller import Controller
from barnabas.controller.policy import TopicPolicy
from barnabas.controller.producer_ids import ProducerIds
from barnabas.controller.topics import TopicAdmin
from barnabas.controller.writer import ControllerWriter
from barnabas.handlers.context import (
    ClusterContext,
    ConfigContext,
    ControllerContext,
    CoordinatorContext,
    GroupContext,
    LogDirContext,
    RecordContext,
    Serving,
    StoreThread,
    TopicContext,
    TransactionContext,
)
from barnabas.handlers.contexts import Contexts
from barnabas.handlers.fetch_sessions import FetchSessions
from barnabas.handlers.forwarding import Forwarding
from barnabas.handlers.topic_creation import TopicCreation
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.membership import Membership
from barnabas.metadata.store import MetadataStore
from barnabas.network.request_memory import RequestMemory
from barnabas.network.slices import Slices
from barnabas.replication.flusher import Flusher
from barnabas.replication.partitions import Partitions
from barnabas.storage.deleted_files import DeletedSink
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.logs import Logs, LogsSettings

logger = logging.getLogger("broker")


@dataclass(frozen=True, slots=True)
class BrokerParts:
    partitions: Partitions
    groups: GroupHost
    transactions: TransactionHost
    topics: TopicAdmin
    producer_ids: ProducerIds
    contexts: Contexts


class LogConfigs:
    """The configuration of each topic's logs: its own settings over the broker's."""

    def __init__(self, settings: CurrentConfig, cluster: ClusterMetadata) -> None:
        self._settings: CurrentConfig = settings
        self._cluster: ClusterMetadata = cluster

    def of(self, topic: str) -> LogConfig:
        overrides = self._cluster.image.topic_configs.get(topic)
        defaults = self._settings.value.log_defaults()
        if not overrides:
            return defaults
        try:
            return resolve_log_config(overrides, defaults)
        except ConfigError as error:
            # Written by a tool that does not validate: the topic keeps working with the broker's defaults.
            logger.error(
                "The configuration of topic %s is invalid; the broker's defaults apply: %s", topic, error
            )
            return defaults


def build_logs(
    settings: CurrentConfig,
    cluster: ClusterMetadata,
    environment: Environment,
    descriptors: DescriptorLimits,
    on_offline: Callable[[LogDirectory, OSError], None],
    on_deleted: DeletedSink,
) -> Logs:
    config = settings.value

    def topic_id_of(topic: str) -> UUID | None:
        found = cluster.image.topics.get(topic)
        return None if found is None else found.topic_id

    logs_settings = LogsSettings(
        config.broker_id,
        cluster.cluster_id(),
        recovery_threads=config.num_recovery_threads_per_data_dir,
        producer_expiration_ms=config.producer_id_expiration_ms,
        descriptors=descriptors,
    )
    return Logs(
        config.log_dirs,
        logs_settings,
        LogConfigs(settings, cluster).of,
        fs=environment.fs,
        clock=environment.clock,
        rng=environment.rng,
        on_offline=on_offline,
        on_deleted=on_deleted,
        topic_id_of=topic_id_of,
    )


def build_controller(
    settings: CurrentConfig,
    cluster: ClusterMetadata,
    environment: Environment,
    listeners: Sequence[Listener],
) -> tuple[Membership, Controller]:
    """This broker as a member of the cluster, and the controller that it becomes if it is elected."""
    config = settings.value
    incarnation = random_uuid(environment.rng)
    membership = Membership(cluster, config.broker_id, listeners, config.rack, environment.clock, incarnation)
    policy = TopicPolicy(cluster, config)
    settings.subscribe(policy.configure)
    return membership, Controller(cluster, membership, policy)


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds what serves requests, from the parts below it."""

    settings: CurrentConfig
    environment: Environment
    store: MetadataStore
    store_thread: StoreThread
    cluster: ClusterMetadata
    logs: Logs
    flusher: Flusher
    executor: Executor
    scheduler: Scheduler
    slices: Slices
    request_memory: RequestMemory
    replication: Replication

    def build(self) -> BrokerParts:
        partitions = self._partitions()
        config = self.settings.value
        clock, rng, holds = self.environment.clock, self.environment.rng, self.environment.holds
        producer_ids = ProducerIds(self.store, config.broker_id)
        groups = GroupHost(config, partitions, clock, self.executor, holds, self.scheduler, rng)
        transactions = TransactionHost(
            config,
            partitions,
            clock,
            self.executor,
            holds,
            self.scheduler,
            groups.get,
            producer_ids,
            self.store_thread,
            self.replication.peers,
        )
        writer = ControllerWriter(self.replication.controller)
        topics, configs = TopicAdmin(writer, config, rng), ConfigAdmin(writer, config)
        self.replication.controller.duties.append(topics.assign_missing_ids)
        for part in (topics, configs, groups, transactions):
            self.settings.subscribe(part.configure)
        contexts = self._contexts(partitions, groups, transactions, topics, configs, producer_ids)
        return BrokerParts(partitions, groups, transactions, topics, producer_ids, contexts)

    def _partitions(self) -> Partitions:
        replication = self.replication
        replication.partitions = partitions = Partitions(
            self.settings.value.broker_id,
            self.logs,
            self.flusher,
            LogConfigs(self.settings, self.cluster).of,
            self.scheduler.between_requests,
            clock=self.environment.clock,
            replica_lag_time_max_ms=self.settings.value.replica_lag_time_max_ms,
            propose=replication.proposals.add,
            is_eligible=replication.is_eligible,
            epoch_of=replication.epoch_of,
            on_role=replication.fetchers.on_role,
        )
        return partitions

    def _contexts(
        self,
        partitions: Partitions,
        groups: GroupHost,
        transactions: TransactionHost,
        topics: TopicAdmin,
        configs: ConfigAdmin,
        producer_ids: ProducerIds,
    ) -> Contexts:
        clock, store = self.environment.clock, self.store_thread
        seen = (self.settings, self.cluster)
        serving = Serving(
            self.settings, clock, self.executor, self.environment.holds, self.slices, self.request_memory
        )
        replication = self.replication
        forwarding = Forwarding(
            self.settings, replication.controller, self.cluster, store, replication.client, serving
        )
        creation = TopicCreation(topics, store, forwarding)
        topic_context = TopicContext(*seen, topics, creation, store, clock)
        slots = self.settings.value.max_incremental_fetch_session_cache_slots
        sessions = FetchSessions(slots, clock, self.environment.rng)
        return Contexts(
            serving=serving,
            cluster=ClusterContext(*seen),
            topics=topic_context,
            configs=ConfigContext(*seen, configs, store),
            log_dirs=LogDirContext(
                *seen, self.logs, partitions, self.replication.make_moves(self.logs, self.executor)
            ),
            records=RecordContext(
                *seen,
                partitions,
                topic_context,
                transactions,
                sessions,
                serving,
                self.replication.quotas.leader,
            ),
            groups=GroupContext(*seen, groups),
            transactions=TransactionContext(
                *seen, groups, transactions, partitions, producer_ids, store, clock, self.slices
            ),
            coordinators=CoordinatorContext(*seen, groups, transactions, creation, self.executor),
            controller=ControllerContext(*seen, replication.controller, store),
            forwarding=forwarding,
        )
