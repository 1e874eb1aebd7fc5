"""Broker keys of Barnabas itself."""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import MEDIUM, READ_ONLY, STRING

OWN_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("barnabas.metadata.store.path", STRING, None, MEDIUM, READ_ONLY),
)
