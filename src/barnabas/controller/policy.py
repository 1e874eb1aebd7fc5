"""The settings of topics that decide about their replicas, from the topics' and brokers' configuration."""

from typing import Protocol

from barnabas.base.config.keys import ConfigError
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.topic_config import resolve_log_config
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import TopicImage


class ReplicationSettings(Protocol):
    def log_defaults(self) -> LogConfig: ...


class TopicPolicy:
    """Reads the configuration of the moment: a dynamic change takes effect with the next decision."""

    def __init__(self, cluster: ClusterMetadata, settings: ReplicationSettings) -> None:
        self._settings: ReplicationSettings = settings
        self._cluster: ClusterMetadata = cluster

    def configure(self, settings: ReplicationSettings) -> None:
        """Apply a change of the broker's configuration."""
        self._settings = settings

    def min_isr(self, topic: TopicImage) -> int:
        replication_factor = len(topic.partitions[0].replicas) if topic.partitions else 1
        return min(self._config(topic).min_insync_replicas, replication_factor)

    def allows_unclean_election(self, topic: TopicImage) -> bool:
        return self._config(topic).unclean_leader_election_enable

    def _config(self, topic: TopicImage) -> LogConfig:
        defaults = self._settings.log_defaults()
        overrides = self._cluster.image.topic_configs.get(topic.name)
        if not overrides:
            return defaults
        try:
            return resolve_log_config(overrides, defaults)
        except ConfigError:
            return defaults  # Logged where the configuration is applied to the topic's logs.
