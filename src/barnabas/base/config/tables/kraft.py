"""Broker keys of Kafka's own metadata quorum (KRaft).

Barnabas keeps its metadata elsewhere; `process.roles` and `controller.listener.names` are still read, so that
the file of a KRaft node starts a broker.
"""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import (
    BOOLEAN,
    HIGH,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    READ_ONLY,
    STRING,
)
from barnabas.base.config.validators import ItemsLike, at_least, items

VOTERS = ItemsLike(r"-?\d+@[^@\s]+:\d+", "a list of nodes, each as id@host:port")
HOST_PORTS = ItemsLike(r"[^@\s]+:\d+", "a list of host:port")

KRAFT_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("broker.heartbeat.interval.ms", INT, "2000", MEDIUM, READ_ONLY),
    ConfigKey("broker.session.timeout.ms", INT, "9000", MEDIUM, READ_ONLY),
    ConfigKey("controller.listener.names", LIST, None, HIGH, READ_ONLY, items(may_be_empty=False)),
    ConfigKey(
        "controller.performance.always.log.threshold.ms",
        LONG,
        "2000",
        MEDIUM,
        READ_ONLY,
        at_least(0),
        hidden=True,
    ),
    ConfigKey(
        "controller.performance.sample.period.ms",
        LONG,
        "60000",
        MEDIUM,
        READ_ONLY,
        at_least(100),
        hidden=True,
    ),
    ConfigKey("controller.quorum.append.linger.ms", INT, "25", MEDIUM, READ_ONLY, at_least(0)),
    ConfigKey("controller.quorum.auto.join.enable", BOOLEAN, "false", LOW, READ_ONLY),
    ConfigKey("controller.quorum.bootstrap.servers", LIST, "", HIGH, READ_ONLY, HOST_PORTS),
    ConfigKey("controller.quorum.election.backoff.max.ms", INT, "1000", HIGH, READ_ONLY, at_least(0)),
    ConfigKey("controller.quorum.election.timeout.ms", INT, "1000", HIGH, READ_ONLY, at_least(0)),
    ConfigKey("controller.quorum.fetch.max.bytes", INT, "1048576", LOW, READ_ONLY, at_least(1)),
    ConfigKey("controller.quorum.fetch.snapshot.max.bytes", INT, "1048576", LOW, READ_ONLY, at_least(1)),
    ConfigKey("controller.quorum.fetch.timeout.ms", INT, "2000", HIGH, READ_ONLY, at_least(0)),
    ConfigKey("controller.quorum.request.timeout.ms", INT, "2000", MEDIUM, READ_ONLY, at_least(0)),
    ConfigKey("controller.quorum.retry.backoff.ms", INT, "20", LOW, READ_ONLY, at_least(0)),
    ConfigKey("controller.quorum.voters", LIST, "", HIGH, READ_ONLY, VOTERS),
    ConfigKey("initial.broker.registration.timeout.ms", INT, "60000", MEDIUM, READ_ONLY),
    ConfigKey("internal.metadata.delete.delay.millis", LONG, "60000", LOW, READ_ONLY, hidden=True),
    ConfigKey("internal.metadata.log.segment.bytes", INT, None, LOW, READ_ONLY, hidden=True),
    ConfigKey("internal.metadata.max.batch.size.in.bytes", INT, "8388608", LOW, READ_ONLY, hidden=True),
    ConfigKey("metadata.log.dir", STRING, None, HIGH, READ_ONLY),
    ConfigKey(
        "metadata.log.max.record.bytes.between.snapshots",
        LONG,
        "20971520",
        HIGH,
        READ_ONLY,
        at_least(1),
    ),
    ConfigKey("metadata.log.max.snapshot.interval.ms", LONG, "3600000", HIGH, READ_ONLY, at_least(0)),
    ConfigKey("metadata.log.segment.bytes", INT, "1073741824", HIGH, READ_ONLY, at_least(8388608)),
    ConfigKey("metadata.log.segment.ms", LONG, "604800000", HIGH, READ_ONLY),
    ConfigKey("metadata.max.idle.interval.ms", INT, "500", LOW, READ_ONLY, at_least(0)),
    ConfigKey("metadata.max.retention.bytes", LONG, "104857600", HIGH, READ_ONLY),
    ConfigKey("metadata.max.retention.ms", LONG, "604800000", HIGH, READ_ONLY),
    ConfigKey(
        "process.roles",
        LIST,
        None,
        HIGH,
        READ_ONLY,
        items(("broker", "controller"), may_be_empty=False),
    ),
    ConfigKey("server.max.startup.time.ms", LONG, LONG_MAX, MEDIUM, READ_ONLY, at_least(0), hidden=True),
    ConfigKey("unstable.api.versions.enable", BOOLEAN, "false", HIGH, READ_ONLY),
    ConfigKey("unstable.feature.versions.enable", BOOLEAN, "false", HIGH, READ_ONLY, hidden=True),
)
