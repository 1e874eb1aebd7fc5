"""Who a broker is, as its log directories remember it (`meta.properties`)."""

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.filesystem import FileSystem
from barnabas.storage.meta_properties import read_meta_properties


def with_known_node_id(config: BrokerConfig, fs: FileSystem) -> BrokerConfig:
    """Where the configuration does not say, a broker keeps the id its first directory was written under."""
    if config.is_set("node.id"):
        return config
    for path in config.log_dirs:
        known = read_meta_properties(fs, path)
        if known is not None and known.node_id is not None:
            return BrokerConfig.from_properties({**config.originals, "node.id": str(known.node_id)})
    return config


def known_cluster_id(config: BrokerConfig, fs: FileSystem) -> str | None:
    """What the log directories say, for a store that is new to them (copied or adopted directories)."""
    for path in config.log_dirs:
        known = read_meta_properties(fs, path)
        if known is not None and known.cluster_id is not None:
            return known.cluster_id
    return None
