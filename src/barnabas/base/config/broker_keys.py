"""Every key a broker accepts, and the rules for changing one while it runs (KIP-226).

The rows stand in `tables/`, by theme. `BROKER_KEYS` is sorted by name, the order of DescribeConfigs.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from barnabas.base.config.keys import ConfigError, ConfigKey, UpdateMode, Value
from barnabas.base.config.tables.groups import GROUPS_KEYS
from barnabas.base.config.tables.kraft import KRAFT_KEYS
from barnabas.base.config.tables.legacy import LEGACY_KEYS
from barnabas.base.config.tables.log import LOG_KEYS
from barnabas.base.config.tables.network import NETWORK_KEYS
from barnabas.base.config.tables.own import OWN_KEYS
from barnabas.base.config.tables.replication import REPLICATION_KEYS
from barnabas.base.config.tables.security import SECURITY_KEYS
from barnabas.base.config.tables.server import SERVER_KEYS
from barnabas.base.config.tables.share import SHARE_KEYS
from barnabas.base.config.tables.tiered import TIERED_KEYS
from barnabas.base.config.tables.transactions import TRANSACTIONS_KEYS

_TABLES = (
    GROUPS_KEYS,
    KRAFT_KEYS,
    LEGACY_KEYS,
    LOG_KEYS,
    NETWORK_KEYS,
    OWN_KEYS,
    REPLICATION_KEYS,
    SECURITY_KEYS,
    SERVER_KEYS,
    SHARE_KEYS,
    TIERED_KEYS,
    TRANSACTIONS_KEYS,
)

BROKER_KEYS: Mapping[str, ConfigKey] = {
    key.name: key for key in sorted((key for table in _TABLES for key in table), key=lambda key: key.name)
}

# Keys whose values replace each other: the first that is set counts.
_SYNONYM_GROUPS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)

# Secrets and key stores: a change of one is a change of one listener (KIP-226).
_ONLY_WITH_LISTENER_PREFIX = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)

_LISTENER_PREFIX = "listener.name."
_PER_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


@cache
def default_of(name: str) -> Value:
    """The parsed default of a known key."""
    return BROKER_KEYS[name].parse_default()


def base_name(name: str) -> str:
    """`ssl.keystore.location` for `listener.name.internal.ssl.keystore.location`; other names unchanged."""
    if not name.startswith(_LISTENER_PREFIX):
        return name
    base = name.removeprefix(_LISTENER_PREFIX).partition(".")[2]
    return next((suffix for suffix in _PER_MECHANISM if base.endswith(suffix)), base)


def synonyms_of(name: str) -> tuple[str, ...]:
    """The names whose values may stand for this key, itself among them, in order of precedence."""
    for group in _SYNONYM_GROUPS:
        if name in group:
            return group
    if name == "log.flush.interval.ms":  # one way only: the scheduler's interval has no other name
        return name, "log.flush.scheduler.interval.ms"
    base = base_name(name)
    return (name,) if base == name else (name, base)


def validate_dynamic_broker_configs(configs: Mapping[str, str], per_broker: bool) -> None:
    """Check what AlterConfigs wants to set on one broker, or (`per_broker=False`) on the whole cluster.

    Unknown names are accepted, as in Kafka: they may belong to a plugin.
    """
    _refuse(
        (name for name in configs if name in BROKER_KEYS and BROKER_KEYS[name].is_read_only),
        "Cannot update these configs dynamically",
    )
    _refuse(
        (name for name in configs if name in _ONLY_WITH_LISTENER_PREFIX),
        "These security configs can be updated dynamically only with the prefix listener.name.<name>.",
    )
    for name, value in configs.items():
        key = BROKER_KEYS.get(base_name(name))
        if key is not None:
            key.parse(value)
    if not per_broker:
        _refuse(
            (name for name in configs if _is_per_broker(name)),
            "Cannot update these configs for the whole cluster, a broker id must be given",
        )


def _is_per_broker(name: str) -> bool:
    key = BROKER_KEYS.get(base_name(name))
    return key is not None and key.update is UpdateMode.PER_BROKER


def _refuse(names: Iterable[str], reason: str) -> None:
    refused = sorted(names)
    if refused:
        raise ConfigError.saying(refused[0], f"{reason}: {', '.join(refused)}")
