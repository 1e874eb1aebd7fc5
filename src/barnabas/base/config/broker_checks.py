"""What must hold between a broker's values, after each has been found right by itself.

The rules are those of Kafka's KafkaConfig, as far as they concern what Barnabas does.
"""

from typing import TYPE_CHECKING

from barnabas.base.config.keys import ConfigError
from barnabas.base.config.listeners import SERVED_PROTOCOLS

if TYPE_CHECKING:
    from barnabas.base.config.broker_config import BrokerConfig

_MEGABYTE = 1024 * 1024


def check_values(config: "BrokerConfig") -> None:
    _check_identity(config)
    _check_log_dirs(config)
    _check_log_times(config)
    _check_cleaner(config)
    _check_replica_times(config)
    _check_connections(config)


def _check_identity(config: "BrokerConfig") -> None:
    node_id, broker_id = _integer(config, "node.id"), _integer(config, "broker.id")
    if node_id != broker_id:
        raise ConfigError("node.id", node_id, f"the same as broker.id ({broker_id})")
    if node_id < 0:
        raise ConfigError("node.id", node_id, "an integer of at least 0")
    roles = config.get("process.roles")
    if isinstance(roles, tuple) and "broker" not in roles:
        raise ConfigError("process.roles", ",".join(roles), "a list with broker, for this is one")
    _check_inter_broker_listener(config)


def _check_inter_broker_listener(config: "BrokerConfig") -> None:
    protocol = "security.inter.broker.protocol"
    if config.is_set("inter.broker.listener.name") and config.is_set(protocol):
        raise ConfigError(protocol, config.get(protocol), "absent where inter.broker.listener.name is set")
    if config.get(protocol) not in SERVED_PROTOCOLS:
        raise ConfigError(
            protocol, config.get(protocol), f"{' or '.join(SERVED_PROTOCOLS)}, the only one served so far"
        )
    names = [listener.name for listener in config.listeners]
    name = config.inter_broker_listener_name
    if name not in names:
        raise ConfigError("inter.broker.listener.name", name, f"one of the listeners ({', '.join(names)})")


def _check_log_dirs(config: "BrokerConfig") -> None:
    key = "log.dirs" if config.is_set("log.dirs") else "log.dir"
    names = config.get(key)
    if not names:
        raise ConfigError(key, names, "a list with at least one directory")
    assert isinstance(names, tuple)
    cordoned = config.get("cordoned.log.dirs")
    assert isinstance(cordoned, tuple)
    if cordoned != ("*",) and not set(cordoned) <= set(names):
        allowed = f"* or a list of directories of {key} ({','.join(names)})"
        raise ConfigError("cordoned.log.dirs", ",".join(cordoned), allowed)


def _check_log_times(config: "BrokerConfig") -> None:
    roll = config.get("log.roll.ms")
    if isinstance(roll, int) and roll < 1:
        raise ConfigError("log.roll.ms", roll, "an integer of at least 1")
    jitter = config.get("log.roll.jitter.ms")
    if isinstance(jitter, int) and jitter < 0:
        raise ConfigError("log.roll.jitter.ms", jitter, "an integer of at least 0")
    flush = config.get("log.flush.interval.ms")
    if isinstance(flush, int) and flush < 0:
        raise ConfigError("log.flush.interval.ms", flush, "an integer of at least 0")
    if config.log_retention_ms == 0:
        keys = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
        key = next(key for key in keys if config.get(key) is not None)
        raise ConfigError(key, 0, "an integer of at least 1, or -1 to keep everything")


def _check_cleaner(config: "BrokerConfig") -> None:
    size, threads = _integer(config, "log.cleaner.dedupe.buffer.size"), config.log_cleaner_threads
    if threads and size // threads <= _MEGABYTE:
        key = "log.cleaner.dedupe.buffer.size"
        raise ConfigError(key, size, f"more than {_MEGABYTE} for each of {threads} cleaner threads")
    minimum = _integer(config, "log.cleaner.min.compaction.lag.ms")
    maximum = _integer(config, "log.cleaner.max.compaction.lag.ms")
    if minimum > maximum:
        allowed = f"at most log.cleaner.max.compaction.lag.ms ({maximum})"
        raise ConfigError("log.cleaner.min.compaction.lag.ms", minimum, allowed)


def _check_replica_times(config: "BrokerConfig") -> None:
    wait = config.replica_fetch_wait_max_ms
    for other in ("replica.socket.timeout.ms", "replica.lag.time.max.ms"):
        limit = _integer(config, other)
        if wait > limit:
            raise ConfigError("replica.fetch.wait.max.ms", wait, f"at most {other} ({limit})")


def _check_connections(config: "BrokerConfig") -> None:
    queued, largest = config.queued_max_request_bytes, config.socket_request_max_bytes
    if 0 < queued < largest:
        allowed = f"at least socket.request.max.bytes ({largest}), or -1 for no limit"
        raise ConfigError("queued.max.request.bytes", queued, allowed)
    key = "max.connections.per.ip.overrides"
    try:
        overrides = config.max_connections_per_ip_overrides
    except ValueError:
        raise ConfigError(key, config.get(key), "a list of host:limit") from None
    if "" in overrides:
        raise ConfigError(key, config.get(key), "a list of host:limit")
    if config.max_connections_per_ip == 0 and not overrides:
        allowed = f"an integer of at least 1, unless {key} names hosts"
        raise ConfigError("max.connections.per.ip", 0, allowed)


def _integer(config: "BrokerConfig", name: str) -> int:
    value = config.get(name)
    assert isinstance(value, int)
    return value
