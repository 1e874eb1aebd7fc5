"""The configuration of one broker: its properties file, its dynamic configuration and the defaults.

A `BrokerConfig` is immutable: a dynamic update makes a new one by `with_dynamic`. It keeps only values that
were set; defaults come from the tables. Precedence: this broker's dynamic values, the cluster's
dynamic defaults, the file, the default. Errors are `ConfigError`, one line each; an unknown key is a warning.
"""

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from barnabas.base.config.broker_checks import check_values
from barnabas.base.config.broker_keys import BROKER_KEYS, base_name, default_of
from barnabas.base.config.keys import ConfigError, Value, evaluate_product
from barnabas.base.config.listeners import (
    PLAINTEXT,
    Listener,
    parse_listeners,
    parse_protocol_map,
    require_distinct_ports,
    require_served_protocols,
)
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.store_location import store_directory
from barnabas.base.config.topic_config import log_config_fields
from barnabas.base.config.topic_keys import TOPIC_KEYS, TOPIC_SYNONYMS
from barnabas.base.config.topic_keys import default_of as topic_default_of

if TYPE_CHECKING:
    from barnabas.base.config.describe import DescribedConfig

T = TypeVar("T")

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_NOTHING: Mapping[str, str] = MappingProxyType({})

# Keys below these belong to plugins; they are carried along without a word.
_PLUGIN_PREFIXES = ("rsm.config.", "rlmm.config.", "config.providers.")


class Setting(Generic[T]):
    """An attribute of BrokerConfig that reads one key."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name

    @overload
    def __get__(self, config: None, owner: object) -> "Setting[T]": ...

    @overload
    def __get__(self, config: "BrokerConfig", owner: object) -> T: ...

    def __get__(self, config: "BrokerConfig | None", owner: object) -> "Setting[T] | T":
        if config is None:
            return self
        value: Any = config.get(self.name)  # the table's type is the annotation's: tests compare them
        return value  # type: ignore[no-any-return]


def _int(name: str) -> Setting[int]:
    return Setting(name)


def _bool(name: str) -> Setting[bool]:
    return Setting(name)


def _optional_int(name: str) -> Setting[int | None]:
    return Setting(name)


def _optional_str(name: str) -> Setting[str | None]:
    return Setting(name)


class BrokerConfig:
    __slots__ = (
        "_advertised",
        "_log_defaults",
        "_values",
        "dynamic",
        "dynamic_defaults",
        "listeners",
        "originals",
        "warnings",
    )

    broker_id = _int("node.id")
    rack = _optional_str("broker.rack")
    background_threads = _int("background.threads")
    num_io_threads = _int("num.io.threads")
    num_network_threads = _int("num.network.threads")
    num_recovery_threads_per_data_dir = _int("num.recovery.threads.per.data.dir")

    socket_request_max_bytes = _int("socket.request.max.bytes")
    socket_send_buffer_bytes = _int("socket.send.buffer.bytes")
    socket_receive_buffer_bytes = _int("socket.receive.buffer.bytes")
    socket_listen_backlog_size = _int("socket.listen.backlog.size")
    connections_max_idle_ms = _int("connections.max.idle.ms")
    max_connections = _int("max.connections")
    max_connections_per_ip = _int("max.connections.per.ip")
    max_connection_creation_rate = _int("max.connection.creation.rate")
    queued_max_requests = _int("queued.max.requests")
    queued_max_request_bytes = _int("queued.max.request.bytes")
    request_timeout_ms = _int("request.timeout.ms")

    num_partitions = _int("num.partitions")
    default_replication_factor = _int("default.replication.factor")
    min_insync_replicas = _int("min.insync.replicas")
    auto_create_topics_enable = _bool("auto.create.topics.enable")
    delete_topic_enable = _bool("delete.topic.enable")
    unclean_leader_election_enable = _bool("unclean.leader.election.enable")
    message_max_bytes = _int("message.max.bytes")
    fetch_max_bytes = _int("fetch.max.bytes")

    @property
    def selects_replica_by_rack(self) -> bool:
        """Consumers are sent to a replica in their rack (KIP-392)."""
        return str(self.get("replica.selector.class")).endswith(".RackAwareReplicaSelector")

    max_incremental_fetch_session_cache_slots = _int("max.incremental.fetch.session.cache.slots")
    max_request_partition_size_limit = _int("max.request.partition.size.limit")

    log_retention_check_interval_ms = _int("log.retention.check.interval.ms")
    log_initial_task_delay_ms = _int("log.initial.task.delay.ms")
    log_flush_scheduler_interval_ms = _int("log.flush.scheduler.interval.ms")
    log_flush_offset_checkpoint_interval_ms = _int("log.flush.offset.checkpoint.interval.ms")
    log_flush_start_offset_checkpoint_interval_ms = _int("log.flush.start.offset.checkpoint.interval.ms")
    log_dir_failure_timeout_ms = _int("log.dir.failure.timeout.ms")
    log_cleaner_enable = _bool("log.cleaner.enable")
    log_cleaner_threads = _int("log.cleaner.threads")
    log_cleaner_backoff_ms = _int("log.cleaner.backoff.ms")

    replica_high_watermark_checkpoint_interval_ms = _int("replica.high.watermark.checkpoint.interval.ms")
    replica_lag_time_max_ms = _int("replica.lag.time.max.ms")
    replica_fetch_wait_max_ms = _int("replica.fetch.wait.max.ms")
    replica_fetch_min_bytes = _int("replica.fetch.min.bytes")
    replica_fetch_max_bytes = _int("replica.fetch.max.bytes")
    replica_fetch_response_max_bytes = _int("replica.fetch.response.max.bytes")
    replica_fetch_backoff_ms = _int("replica.fetch.backoff.ms")
    replica_socket_timeout_ms = _int("replica.socket.timeout.ms")

    producer_id_expiration_ms = _int("producer.id.expiration.ms")
    producer_id_expiration_check_interval_ms = _int("producer.id.expiration.check.interval.ms")
    transaction_max_timeout_ms = _int("transaction.max.timeout.ms")
    transactional_id_expiration_ms = _int("transactional.id.expiration.ms")
    add_partitions_to_txn_retry_backoff_ms = _int("add.partitions.to.txn.retry.backoff.ms")
    add_partitions_to_txn_retry_backoff_max_ms = _int("add.partitions.to.txn.retry.backoff.max.ms")
    transaction_partition_verification_enable = _bool("transaction.partition.verification.enable")
    transaction_state_log_num_partitions = _int("transaction.state.log.num.partitions")
    transaction_state_log_replication_factor = _int("transaction.state.log.replication.factor")
    transaction_state_log_min_isr = _int("transaction.state.log.min.isr")
    transaction_state_log_segment_bytes = _int("transaction.state.log.segment.bytes")
    offsets_load_buffer_size = _int("offsets.load.buffer.size")
    offsets_topic_num_partitions = _int("offsets.topic.num.partitions")
    offsets_topic_replication_factor = _int("offsets.topic.replication.factor")
    offsets_topic_segment_bytes = _int("offsets.topic.segment.bytes")

    broker_session_timeout_ms = _int("broker.session.timeout.ms")
    zookeeper_session_timeout_ms = _int("zookeeper.session.timeout.ms")
    zookeeper_connection_timeout_ms = _optional_int("zookeeper.connection.timeout.ms")

    def __init__(
        self,
        originals: Mapping[str, str],
        dynamic: Mapping[str, str],
        dynamic_defaults: Mapping[str, str],
        warnings: list[str],
    ) -> None:
        """Use `from_properties`; `originals` are already completed by it."""
        self.originals: Mapping[str, str] = originals
        self.dynamic: Mapping[str, str] = dynamic
        self.dynamic_defaults: Mapping[str, str] = dynamic_defaults
        self.warnings: list[str] = warnings
        self._values: dict[str, Value] = {"node.id": 0, "broker.id": 0}
        for layer in (originals, dynamic_defaults, dynamic):
            for name, text in layer.items():
                key = BROKER_KEYS.get(base_name(name))
                if key is not None:
                    self._values[name] = key.parse(text)
        self._log_defaults: LogConfig | None = None
        self.listeners: tuple[Listener, ...] = self._broker_listeners()
        self._advertised: tuple[Listener, ...] = self._broker_advertised_listeners()
        check_values(self)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "BrokerConfig":
        originals: dict[str, str] = {}
        warnings: list[str] = []
        for name, text in properties.items():
            key = BROKER_KEYS.get(base_name(name))
            if key is None and not name.startswith(_PLUGIN_PREFIXES):
                warnings.append(_unknown_key(name))
            originals[name] = evaluate_product(text) if key is not None and key.is_integer else text
        _complete_broker_id(originals)
        config = cls(originals, _NOTHING, _NOTHING, warnings)
        if config.get("remote.log.storage.system.enable"):
            warnings.append(
                "remote.log.storage.system.enable=true has no effect: there is no tiered storage here"
            )
        if config.zookeeper_connect is not None:
            warnings.append(
                "zookeeper.connect has no effect yet: metadata is kept in the embedded store "
                f"({config.metadata_store_path})"
            )
        return config

    def with_dynamic(
        self, overrides: Mapping[str, str], cluster_defaults: Mapping[str, str] | None = None
    ) -> "BrokerConfig":
        """This file with other dynamic values: all of this broker's and, if given, all of the cluster's."""
        defaults = self.dynamic_defaults if cluster_defaults is None else dict(cluster_defaults)
        return BrokerConfig(self.originals, dict(overrides), defaults, self.warnings)

    def get(self, name: str) -> Value:
        """The value of a known key in its type; None when it is not set and has no default."""
        if name in self._values:
            return self._values[name]
        return default_of(name)

    def is_set(self, name: str) -> bool:
        return name in self.originals or name in self.dynamic_defaults or name in self.dynamic

    @property
    def log_dirs(self) -> tuple[Path, ...]:
        names = self.get("log.dirs") or self.get("log.dir")
        assert isinstance(names, tuple)
        return tuple(Path(name) for name in names)

    @property
    def metadata_store_path(self) -> Path:
        """Where the embedded metadata store lives (`store_location`)."""
        path = self.get("barnabas.metadata.store.path")
        if path:
            return Path(str(path))
        node_id = self.originals.get("node.id")
        home = store_directory(self.log_dirs[0], node_id, self.zookeeper_connect)
        return home / ".barnabas" / "metadata.db"

    @property
    def accepted_losses(self) -> tuple[str, ...]:
        """What a start may go on without (`tables/own.py`)."""
        losses = self.get("barnabas.accept.data.loss")
        assert isinstance(losses, tuple)
        return losses

    @property
    def session_timeout_ms(self) -> int:
        """How long the broker may be silent until other brokers expire its session in the metadata store."""
        if self.is_set("zookeeper.session.timeout.ms"):
            return self.zookeeper_session_timeout_ms
        return self.broker_session_timeout_ms

    @property
    def zookeeper_connect(self) -> str | None:
        """None: the embedded store is used."""
        value = self.get("zookeeper.connect")
        return str(value) if value else None

    @property
    def max_connections_per_ip_overrides(self) -> dict[str, int]:
        text = str(self.get("max.connections.per.ip.overrides"))
        pairs = (part.rpartition(":") for part in text.split(",") if part.strip())
        return {host.strip(): int(limit) for host, _, limit in pairs}

    @property
    def inter_broker_listener_name(self) -> str:
        name = self.get("inter.broker.listener.name")
        if name:
            return str(name).upper()
        names = [listener.name for listener in self.listeners]
        return PLAINTEXT if PLAINTEXT in names else names[0]

    @property
    def log_retention_ms(self) -> int:
        for name, unit in (
            ("log.retention.ms", 1),
            ("log.retention.minutes", _MINUTE_MS),
            ("log.retention.hours", _HOUR_MS),
        ):
            value = self.get(name)
            if isinstance(value, int):
                return value * unit if value >= 0 else -1
        return -1

    @property
    def advertised_listeners(self) -> tuple[Listener, ...]:
        return self.advertised(bound_ports={})

    def advertised(self, bound_ports: Mapping[str, int]) -> tuple[Listener, ...]:
        """The addresses for clients: an empty host becomes this host's name, port 0 the bound port."""
        return tuple(
            replace(
                listener,
                host=listener.host or _local_host_name(),
                port=listener.port or bound_ports.get(listener.name, 0),
            )
            for listener in self._advertised
        )

    def topic_default(self, name: str) -> Value:
        """What a topic key is where the topic does not set it."""
        match name:
            case "retention.ms":
                return self.log_retention_ms
            case "segment.ms":
                return self._ms_or_hours("log.roll.ms", "log.roll.hours")
            case "segment.jitter.ms":
                return self._ms_or_hours("log.roll.jitter.ms", "log.roll.jitter.hours")
            case "flush.ms":
                value = self.get("log.flush.interval.ms")
                return self.log_flush_scheduler_interval_ms if value is None else value
            case "message.timestamp.before.max.ms" | "message.timestamp.after.max.ms":
                modern, legacy = f"log.{name}", "log.message.timestamp.difference.max.ms"
                return self.get(legacy if legacy in self._values and modern not in self._values else modern)
        synonym = TOPIC_SYNONYMS.get(name)
        return topic_default_of(name) if synonym is None else self.get(synonym)

    def log_defaults(self) -> LogConfig:
        """The configuration of a topic that sets nothing itself."""
        if self._log_defaults is None:
            fields: dict[str, Any] = {}
            for key in TOPIC_KEYS.values():
                if not key.hidden:
                    fields.update(log_config_fields(key.name, self.topic_default(key.name)))
            self._log_defaults = LogConfig(**fields)
        return self._log_defaults

    def describe(self) -> "Iterator[DescribedConfig]":
        from barnabas.base.config.describe import describe_broker  # a start need not pay for it

        return describe_broker(self)

    def _ms_or_hours(self, ms: str, hours: str) -> int:
        value, whole_hours = self.get(ms), self.get(hours)
        if value is None:
            assert isinstance(whole_hours, int)
            return whole_hours * _HOUR_MS
        assert isinstance(value, int)
        return value

    def _names(self, key: str) -> tuple[str, ...]:
        names = self.get(key) or ()
        assert isinstance(names, tuple)
        return names

    def _security_protocols(self) -> dict[str, str]:
        protocols = parse_protocol_map(str(self.get("listener.security.protocol.map")))
        if not self.is_set("listener.security.protocol.map"):
            for name in self._names("controller.listener.names"):
                protocols.setdefault(name.upper(), PLAINTEXT)
        return protocols

    def _broker_listeners(self) -> tuple[Listener, ...]:
        """The listeners to open: those of a KRaft controller are left out, there is none here."""
        entries: Sequence[str] = self._names("listeners")
        if not self.is_set("listeners") and (self.is_set("host.name") or self.is_set("port")):
            entries = [_endpoint(str(self.get("host.name")), self.get("port"))]
        listeners = parse_listeners("listeners", entries, self._security_protocols())
        controllers = {name.upper() for name in self._names("controller.listener.names")}
        opened = tuple(listener for listener in listeners if listener.name not in controllers)
        if not opened:
            allowed = "a list with at least one listener that is not in controller.listener.names"
            raise ConfigError("listeners", ",".join(entries), allowed)
        require_served_protocols("listeners", opened)
        require_distinct_ports("listeners", listeners)
        return opened

    def _broker_advertised_listeners(self) -> tuple[Listener, ...]:
        key = "advertised.listeners"
        entries: Sequence[str] = self._names(key)
        if not entries and (self.is_set("advertised.host.name") or self.is_set("advertised.port")):
            port = self.get("advertised.port")
            host = self.get("advertised.host.name") or self.get("host.name")
            entries = [_endpoint(str(host), self.get("port") if port is None else port)]
        if not entries:
            advertised, key = self.listeners, "listeners"
        else:
            controllers = {name.upper() for name in self._names("controller.listener.names")}
            every = parse_listeners(key, entries, self._security_protocols())
            advertised = tuple(listener for listener in every if listener.name not in controllers)
        names = [listener.name for listener in self.listeners]
        for listener in advertised:
            if listener.name not in names:
                raise ConfigError(key, listener, f"a listener that is in listeners too ({', '.join(names)})")
            if listener.host == "0.0.0.0":
                allowed = "an address clients can connect to; set advertised.listeners to one, not to 0.0.0.0"
                raise ConfigError("advertised.listeners", listener, allowed)
        return advertised


def _endpoint(host: str, port: Value) -> str:
    return f"{PLAINTEXT}://[{host}]:{port}" if ":" in host else f"{PLAINTEXT}://{host}:{port}"


def _complete_broker_id(originals: dict[str, str]) -> None:
    """`node.id` and `broker.id` are synonyms. -1, which once requested a generated id, means "not set"."""
    if originals.get("broker.id", "").strip() == "-1":
        del originals["broker.id"]
    for name, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if name in originals:
            originals.setdefault(other, originals[name])


def _unknown_key(name: str) -> str:
    import difflib  # only a mistyped file pays for it

    close = difflib.get_close_matches(name, BROKER_KEYS, n=1, cutoff=0.85)
    return f"Unknown configuration {name} is ignored" + (f"; did you mean {close[0]}?" if close else "")


def _local_host_name() -> str:
    """This host's name if it resolves, which is what clients will try to do with it."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return "localhost"
    return name
