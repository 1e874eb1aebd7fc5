"""Broker keys that older Kafka releases knew and the configuration files of the ZooKeeper days still carry.

They are described only when set. These have an effect: the four host and port keys (the listener,
when `listeners` is absent), `log.message.timestamp.difference.max.ms` and
`leader.imbalance.per.broker.percentage`.
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
    PASSWORD,
    READ_ONLY,
    SHORT,
    STRING,
)
from barnabas.base.config.validators import at_least, between, one_of

LEGACY_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("advertised.host.name", STRING, None, HIGH, READ_ONLY, hidden=True),
    ConfigKey("advertised.port", INT, None, HIGH, READ_ONLY, between(0, 65535), hidden=True),
    ConfigKey("auto.include.jmx.reporter", BOOLEAN, "true", LOW, READ_ONLY, hidden=True),
    ConfigKey("broker.id.generation.enable", BOOLEAN, "true", MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("control.plane.listener.name", STRING, None, HIGH, READ_ONLY, hidden=True),
    ConfigKey("controlled.shutdown.max.retries", INT, "3", MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("controlled.shutdown.retry.backoff.ms", LONG, "5000", MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("controller.message.queue.size", INT, "10", LOW, READ_ONLY, hidden=True),
    ConfigKey("delegation.token.master.key", PASSWORD, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("dual.commit.enabled", BOOLEAN, "true", LOW, READ_ONLY, hidden=True),
    ConfigKey("eligible.leader.replicas.enable", BOOLEAN, "false", HIGH, READ_ONLY, hidden=True),
    ConfigKey("group.coordinator.new.enable", BOOLEAN, "true", MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("host.name", STRING, "", HIGH, READ_ONLY, hidden=True),
    ConfigKey("inter.broker.protocol.version", STRING, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("kafka.csv.metrics.reporter.enabled", BOOLEAN, "false", LOW, READ_ONLY, hidden=True),
    ConfigKey("leader.imbalance.per.broker.percentage", INT, "10", HIGH, READ_ONLY, hidden=True),
    ConfigKey("log.cleanup.interval.mins", INT, "5", LOW, READ_ONLY, at_least(1), hidden=True),
    ConfigKey("log.delete.delay.ms", LONG, "60000", LOW, READ_ONLY, at_least(0), hidden=True),
    ConfigKey("log.message.downconversion.enable", BOOLEAN, "true", LOW, READ_ONLY, hidden=True),
    ConfigKey("log.message.format.version", STRING, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey(
        "log.message.timestamp.difference.max.ms",
        LONG,
        LONG_MAX,
        MEDIUM,
        READ_ONLY,
        at_least(0),
        hidden=True,
    ),
    ConfigKey("offsets.commit.required.acks", SHORT, "-1", HIGH, READ_ONLY, hidden=True),
    ConfigKey(
        "offsets.storage", STRING, "kafka", MEDIUM, READ_ONLY, one_of("kafka", "zookeeper"), hidden=True
    ),
    ConfigKey(
        "password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding", LOW, READ_ONLY, hidden=True
    ),
    ConfigKey("password.encoder.iterations", INT, "4096", LOW, READ_ONLY, at_least(1024), hidden=True),
    ConfigKey("password.encoder.key.length", INT, "128", LOW, READ_ONLY, at_least(8), hidden=True),
    ConfigKey("password.encoder.keyfactory.algorithm", STRING, None, LOW, READ_ONLY, hidden=True),
    ConfigKey("password.encoder.old.secret", PASSWORD, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("password.encoder.secret", PASSWORD, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("port", INT, "9092", HIGH, READ_ONLY, between(0, 65535), hidden=True),
    ConfigKey("quota.consumer.default", LONG, LONG_MAX, HIGH, READ_ONLY, at_least(1), hidden=True),
    ConfigKey("quota.producer.default", LONG, LONG_MAX, HIGH, READ_ONLY, at_least(1), hidden=True),
    ConfigKey("replica.lag.max.messages", LONG, "4000", LOW, READ_ONLY, at_least(1), hidden=True),
    ConfigKey("reserved.broker.max.id", INT, "1000", MEDIUM, READ_ONLY, at_least(0), hidden=True),
    ConfigKey("zookeeper.clientCnxnSocket", STRING, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.connect", STRING, None, HIGH, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.connection.timeout.ms", INT, None, HIGH, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.max.in.flight.requests", INT, "10", HIGH, READ_ONLY, at_least(1), hidden=True),
    ConfigKey("zookeeper.metadata.migration.enable", BOOLEAN, "false", HIGH, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.session.timeout.ms", INT, "18000", HIGH, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.set.acl", BOOLEAN, "false", HIGH, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.cipher.suites", LIST, None, LOW, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.client.enable", BOOLEAN, "false", MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.crl.enable", BOOLEAN, "false", LOW, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.enabled.protocols", LIST, None, LOW, READ_ONLY, hidden=True),
    ConfigKey(
        "zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", LOW, READ_ONLY, hidden=True
    ),
    ConfigKey("zookeeper.ssl.keystore.location", STRING, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.keystore.password", PASSWORD, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.keystore.type", STRING, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.ocsp.enable", BOOLEAN, "false", LOW, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.protocol", STRING, "TLSv1.2", LOW, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.truststore.location", STRING, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.truststore.password", PASSWORD, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.ssl.truststore.type", STRING, None, MEDIUM, READ_ONLY, hidden=True),
    ConfigKey("zookeeper.sync.time.ms", INT, "2000", LOW, READ_ONLY, hidden=True),
)
