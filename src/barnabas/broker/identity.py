"""The identity of a broker, as its log directories store it (`meta.properties`).

A directory that cannot be read is skipped: it goes offline when the logs are opened, with its reason.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.filesystem import FileSystem
from barnabas.metadata.membership import LogHistory
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.meta_properties import MetaProperties, read_meta_properties


def with_known_node_id(config: BrokerConfig, fs: FileSystem) -> BrokerConfig:
    """If `node.id` is not configured, a broker keeps the id of its first log directory."""
    if config.is_set("node.id"):
        return config
    for known in _known(config, fs):
        if known.node_id is not None:
            return BrokerConfig.from_properties({**config.originals, "node.id": str(known.node_id)})
    return config


def known_cluster_id(config: BrokerConfig, fs: FileSystem) -> str | None:
    """Returns the cluster id of the log directories, for a new store (copied or adopted directories)."""
    return next((known.cluster_id for known in _known(config, fs) if known.cluster_id is not None), None)


def log_history(directories: Sequence[LogDirectory]) -> LogHistory:
    """What the open log directories say about the last stop: clean if it was in each, with one epoch."""
    epochs = {directory.clean_epoch for directory in directories if directory.is_online}
    was_clean = all(directory.was_clean for directory in directories) and len(epochs) <= 1
    return LogHistory(was_clean, max(epochs, default=0))


def _known(config: BrokerConfig, fs: FileSystem) -> Iterator[MetaProperties]:
    for path in config.log_dirs:
        with suppress(OSError):
            known = read_meta_properties(fs, path)
            if known is not None:
                yield known
