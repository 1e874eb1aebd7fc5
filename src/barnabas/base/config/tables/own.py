"""Broker keys of Barnabas itself."""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import LIST, MEDIUM, READ_ONLY, STRING
from barnabas.base.config.validators import items

METADATA_STORE = "metadata-store"
LOG_DIRECTORIES = "log-directories"
PARTITIONS = "partitions"
LOSSES = (METADATA_STORE, LOG_DIRECTORIES, PARTITIONS)
"""What a start may be allowed to go on without."""

OWN_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("barnabas.accept.data.loss", LIST, "", MEDIUM, READ_ONLY, items(LOSSES)),
    ConfigKey("barnabas.metadata.store.path", STRING, None, MEDIUM, READ_ONLY),
)
