"""Broker keys for transactions and producer ids."""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import BOOLEAN, CLUSTER_WIDE, HIGH, INT, LOW, READ_ONLY, SHORT
from barnabas.base.config.validators import at_least

TRANSACTIONS_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("add.partitions.to.txn.retry.backoff.max.ms", INT, "100", HIGH, READ_ONLY, at_least(0)),
    ConfigKey("add.partitions.to.txn.retry.backoff.ms", INT, "20", HIGH, READ_ONLY, at_least(1)),
    ConfigKey(
        "producer.id.expiration.check.interval.ms",
        INT,
        "600000",
        LOW,
        READ_ONLY,
        at_least(1),
        hidden=True,
    ),
    ConfigKey("producer.id.expiration.ms", INT, "86400000", LOW, CLUSTER_WIDE, at_least(1)),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        "10000",
        LOW,
        READ_ONLY,
        at_least(1),
    ),
    ConfigKey("transaction.max.timeout.ms", INT, "900000", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("transaction.partition.verification.enable", BOOLEAN, "true", LOW, CLUSTER_WIDE),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        "3600000",
        LOW,
        READ_ONLY,
        at_least(1),
    ),
    ConfigKey("transaction.state.log.load.buffer.size", INT, "5242880", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("transaction.state.log.min.isr", INT, "2", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("transaction.state.log.num.partitions", INT, "50", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("transaction.state.log.replication.factor", SHORT, "3", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("transaction.state.log.segment.bytes", INT, "104857600", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("transaction.two.phase.commit.enable", BOOLEAN, "false", LOW, READ_ONLY),
    ConfigKey("transactional.id.expiration.ms", INT, "604800000", HIGH, READ_ONLY, at_least(1)),
)
