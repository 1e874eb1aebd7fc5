"""Broker keys for everything else: identity, threads, metrics, quotas."""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import (
    CLASS,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    READ_ONLY,
    STRING,
)
from barnabas.base.config.validators import at_least, items

SERVER_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("alter.log.dirs.replication.quota.window.num", INT, "11", LOW, READ_ONLY, at_least(1)),
    ConfigKey("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", LOW, READ_ONLY, at_least(1)),
    ConfigKey("background.threads", INT, "10", HIGH, CLUSTER_WIDE, at_least(1)),
    ConfigKey("broker.id", INT, "-1", HIGH, READ_ONLY),
    ConfigKey("broker.rack", STRING, None, MEDIUM, READ_ONLY),
    ConfigKey("client.quota.callback.class", CLASS, None, LOW, READ_ONLY),
    ConfigKey("config.providers", LIST, "", LOW, CLUSTER_WIDE, items()),
    ConfigKey("controller.quota.window.num", INT, "11", LOW, READ_ONLY, at_least(1)),
    ConfigKey("controller.quota.window.size.seconds", INT, "1", LOW, READ_ONLY, at_least(1)),
    ConfigKey("kafka.metrics.polling.interval.secs", INT, "10", LOW, READ_ONLY, at_least(1)),
    ConfigKey("kafka.metrics.reporters", LIST, "", LOW, READ_ONLY, items()),
    ConfigKey("max.request.partition.size.limit", INT, "2000", MEDIUM, READ_ONLY, at_least(1)),
    ConfigKey(
        "metric.reporters",
        LIST,
        "org.apache.kafka.common.metrics.JmxReporter",
        LOW,
        CLUSTER_WIDE,
        items(),
    ),
    ConfigKey("metrics.num.samples", INT, "2", LOW, READ_ONLY, at_least(1)),
    ConfigKey("metrics.recording.level", STRING, "INFO", LOW, READ_ONLY),
    ConfigKey("metrics.sample.window.ms", LONG, "30000", LOW, READ_ONLY, at_least(1)),
    ConfigKey("node.id", INT, None, HIGH, READ_ONLY, at_least(0)),
    ConfigKey("num.io.threads", INT, "8", HIGH, CLUSTER_WIDE, at_least(1)),
    ConfigKey("quota.window.num", INT, "11", LOW, READ_ONLY, at_least(1)),
    ConfigKey("quota.window.size.seconds", INT, "1", LOW, READ_ONLY, at_least(1)),
    ConfigKey("telemetry.max.bytes", INT, "1048576", LOW, READ_ONLY, at_least(1)),
)
