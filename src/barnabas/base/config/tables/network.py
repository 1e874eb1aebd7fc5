"""Broker keys for listeners, sockets and connections."""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    INT_MAX,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    PER_BROKER,
    READ_ONLY,
    STRING,
)
from barnabas.base.config.validators import at_least, items

NETWORK_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("advertised.listeners", LIST, None, HIGH, READ_ONLY, items(may_be_empty=False)),
    ConfigKey("connections.max.idle.ms", LONG, "600000", MEDIUM, READ_ONLY),
    ConfigKey("early.start.listeners", LIST, None, HIGH, READ_ONLY, items()),
    ConfigKey("inter.broker.listener.name", STRING, None, MEDIUM, READ_ONLY),
    ConfigKey(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        LOW,
        PER_BROKER,
    ),
    ConfigKey("listeners", LIST, "PLAINTEXT://:9092", HIGH, PER_BROKER, items(may_be_empty=False)),
    ConfigKey("max.connection.creation.rate", INT, INT_MAX, MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("max.connections", INT, INT_MAX, MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("max.connections.per.ip", INT, INT_MAX, MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("max.connections.per.ip.overrides", STRING, "", MEDIUM, CLUSTER_WIDE),
    ConfigKey("num.network.threads", INT, "3", HIGH, CLUSTER_WIDE, at_least(1)),
    ConfigKey("queued.max.request.bytes", LONG, "-1", MEDIUM, READ_ONLY),
    ConfigKey("queued.max.requests", INT, "500", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("request.timeout.ms", INT, "30000", HIGH, READ_ONLY),
    ConfigKey("socket.connection.setup.timeout.max.ms", LONG, "30000", MEDIUM, READ_ONLY),
    ConfigKey("socket.connection.setup.timeout.ms", LONG, "10000", MEDIUM, READ_ONLY),
    ConfigKey("socket.listen.backlog.size", INT, "50", MEDIUM, READ_ONLY, at_least(1)),
    ConfigKey("socket.receive.buffer.bytes", INT, "102400", HIGH, READ_ONLY),
    ConfigKey("socket.request.max.bytes", INT, "104857600", HIGH, READ_ONLY, at_least(1)),
    ConfigKey("socket.send.buffer.bytes", INT, "102400", HIGH, READ_ONLY),
)
