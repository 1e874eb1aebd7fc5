"""Who a broker is, as its log directories remember it (`meta.properties`).

A directory that cannot be read is passed over: it goes offline when the logs are opened, with its reason.
"""

from collections.abc import Iterator
from contextlib import suppress

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.filesystem import FileSystem
from barnabas.storage.meta_properties import MetaProperties, read_meta_properties


def with_known_node_id(config: BrokerConfig, fs: FileSystem) -> BrokerConfig:
    """Where the configuration does not say, a broker keeps the id its first directory was written under."""
    if config.is_set("node.id"):
        return config
    for known in _known(config, fs):
        if known.node_id is not None:
            return BrokerConfig.from_properties({**config.originals, "node.id": str(known.node_id)})
    return config


def known_cluster_id(config: BrokerConfig, fs: FileSystem) -> str | None:
    """What the log directories say, for a store that is new to them (copied or adopted directories)."""
    return next((known.cluster_id for known in _known(config, fs) if known.cluster_id is not None), None)


def _known(config: BrokerConfig, fs: FileSystem) -> Iterator[MetaProperties]:
    for path in config.log_dirs:
        with suppress(OSError):
            known = read_meta_properties(fs, path)
            if known is not None:
                yield known
