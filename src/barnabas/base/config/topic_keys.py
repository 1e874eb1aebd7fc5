"""Every key a topic accepts, the broker key behind each, and the check of what a client wants to set."""

from collections.abc import Mapping
from functools import cache

from barnabas.base.config.keys import ConfigError, ConfigKey, Value
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.tables import topic

TOPIC_KEYS: Mapping[str, ConfigKey] = {key.name: key for key in topic.TOPIC_KEYS}

# The broker key that gives a topic key its default (Kafka's ServerTopicConfigSynonyms). Where broker keys of
# other units stand behind it (hours for milliseconds), `broker_keys.synonyms_of` knows them.
TOPIC_SYNONYMS: Mapping[str, str] = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}


@cache
def default_of(name: str) -> Value:
    """The parsed default of a known topic key, where no broker key says otherwise."""
    return TOPIC_KEYS[name].parse_default()


def validate_topic_configs(configs: Mapping[str, str | None], defaults: LogConfig | None = None) -> None:
    """Check the whole set of a topic's own settings; `defaults` are those of the broker.

    Raises ConfigError with the text that goes back to the client.
    """
    nulls = sorted(name for name, value in configs.items() if value is None)
    if nulls:
        message = f"Null value not supported for topic configs: {','.join(nulls)}"
        raise ConfigError.saying(nulls[0], message)
    for name in configs:
        if name not in TOPIC_KEYS:
            raise ConfigError.saying(name, f"Unknown topic config name: {name}")
    values = {name: TOPIC_KEYS[name].parse(value) for name, value in configs.items() if value is not None}
    if values.get("remote.storage.enable"):
        raise ConfigError("remote.storage.enable", "true", "false, as there is no tiered storage here")
    _check_compaction_lags(values, defaults or LogConfig())


def _check_compaction_lags(values: Mapping[str, Value], defaults: LogConfig) -> None:
    minimum = values.get("min.compaction.lag.ms", defaults.min_compaction_lag_ms)
    maximum = values.get("max.compaction.lag.ms", defaults.max_compaction_lag_ms)
    assert isinstance(minimum, int)
    assert isinstance(maximum, int)
    if minimum > maximum:
        allowed = f"at most max.compaction.lag.ms ({maximum})"
        raise ConfigError("min.compaction.lag.ms", minimum, allowed)
