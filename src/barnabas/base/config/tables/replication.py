"""Broker keys for replication, leader election and parked requests."""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    READ_ONLY,
    STRING,
)
from barnabas.base.config.validators import OneOf, at_least

_REPLICA_SELECTORS = (
    "org.apache.kafka.common.replica.LeaderSelector",
    "org.apache.kafka.common.replica.RackAwareReplicaSelector",
)

REPLICATION_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("auto.leader.rebalance.enable", BOOLEAN, "true", HIGH, READ_ONLY),
    ConfigKey("controlled.shutdown.enable", BOOLEAN, "true", MEDIUM, READ_ONLY),
    ConfigKey("controller.socket.timeout.ms", INT, "30000", MEDIUM, READ_ONLY),
    ConfigKey("delete.records.purgatory.purge.interval.requests", INT, "1", MEDIUM, READ_ONLY),
    ConfigKey("fetch.max.bytes", INT, "57671680", MEDIUM, READ_ONLY, at_least(1024)),
    ConfigKey("fetch.purgatory.purge.interval.requests", INT, "1000", MEDIUM, READ_ONLY),
    ConfigKey("follower.fetch.last.tiered.offset.enable", BOOLEAN, "false", MEDIUM, CLUSTER_WIDE),
    ConfigKey(
        "follower.replication.throttled.rate",
        LONG,
        LONG_MAX,
        MEDIUM,
        CLUSTER_WIDE,
        at_least(0),
        hidden=True,
    ),
    ConfigKey("leader.imbalance.check.interval.seconds", LONG, "300", HIGH, READ_ONLY, at_least(1)),
    ConfigKey(
        "leader.replication.throttled.rate",
        LONG,
        LONG_MAX,
        MEDIUM,
        CLUSTER_WIDE,
        at_least(0),
        hidden=True,
    ),
    ConfigKey("max.incremental.fetch.session.cache.slots", INT, "1000", MEDIUM, READ_ONLY, at_least(0)),
    ConfigKey("num.replica.alter.log.dirs.threads", INT, None, HIGH, READ_ONLY),
    ConfigKey("num.replica.fetchers", INT, "1", HIGH, CLUSTER_WIDE, at_least(1)),
    ConfigKey("producer.purgatory.purge.interval.requests", INT, "1000", MEDIUM, READ_ONLY),
    ConfigKey(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG,
        LONG_MAX,
        MEDIUM,
        CLUSTER_WIDE,
        at_least(0),
        hidden=True,
    ),
    ConfigKey("replica.fetch.backoff.ms", INT, "1000", MEDIUM, READ_ONLY, at_least(0)),
    ConfigKey("replica.fetch.max.bytes", INT, "1048576", MEDIUM, READ_ONLY, at_least(0)),
    ConfigKey("replica.fetch.min.bytes", INT, "1", HIGH, READ_ONLY),
    ConfigKey("replica.fetch.response.max.bytes", INT, "10485760", MEDIUM, READ_ONLY, at_least(0)),
    ConfigKey("replica.fetch.wait.max.ms", INT, "500", HIGH, READ_ONLY),
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", LONG, "5000", HIGH, READ_ONLY),
    ConfigKey("replica.lag.time.max.ms", LONG, "30000", HIGH, READ_ONLY),
    ConfigKey("replica.selector.class", STRING, None, MEDIUM, READ_ONLY, OneOf(_REPLICA_SELECTORS)),
    ConfigKey("replica.socket.receive.buffer.bytes", INT, "65536", HIGH, READ_ONLY),
    ConfigKey("replica.socket.timeout.ms", INT, "30000", HIGH, READ_ONLY),
    ConfigKey("replication.quota.window.num", INT, "11", LOW, READ_ONLY, at_least(1)),
    ConfigKey("replication.quota.window.size.seconds", INT, "1", LOW, READ_ONLY, at_least(1)),
)
