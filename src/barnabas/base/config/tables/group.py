"""Group keys: what one group may set for itself, and change at any time (KIP-848, KIP-932, KIP-1071)."""

from barnabas.base.config.keys import ConfigKey
from barnabas.base.config.tables.names import BOOLEAN, CLUSTER_WIDE, INT, MEDIUM, STRING
from barnabas.base.config.validators import Like, at_least, one_of

OFFSET_RESET = Like(
    r"(?i:latest|earliest|by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)",
    "latest, earliest or by_duration:PnDTnHnMn.nS",
)

GROUP_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("consumer.assignment.interval.ms", INT, "1000", MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("consumer.heartbeat.interval.ms", INT, "5000", MEDIUM, CLUSTER_WIDE, at_least(1)),
    ConfigKey("consumer.session.timeout.ms", INT, "45000", MEDIUM, CLUSTER_WIDE, at_least(1)),
    ConfigKey("share.assignment.interval.ms", INT, "1000", MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("share.auto.offset.reset", STRING, "latest", MEDIUM, CLUSTER_WIDE, OFFSET_RESET),
    ConfigKey("share.delivery.count.limit", INT, "5", MEDIUM, CLUSTER_WIDE, at_least(2)),
    ConfigKey("share.heartbeat.interval.ms", INT, "5000", MEDIUM, CLUSTER_WIDE, at_least(1)),
    ConfigKey(
        "share.isolation.level",
        STRING,
        "read_uncommitted",
        MEDIUM,
        CLUSTER_WIDE,
        one_of("read_committed", "read_uncommitted"),
    ),
    ConfigKey("share.partition.max.record.locks", INT, "2000", MEDIUM, CLUSTER_WIDE, at_least(100)),
    ConfigKey("share.record.lock.duration.ms", INT, "30000", MEDIUM, CLUSTER_WIDE, at_least(1000)),
    ConfigKey("share.renew.acknowledge.enable", BOOLEAN, "true", MEDIUM, CLUSTER_WIDE),
    ConfigKey("share.session.timeout.ms", INT, "45000", MEDIUM, CLUSTER_WIDE, at_least(1)),
    ConfigKey("streams.assignment.interval.ms", INT, "1000", MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("streams.heartbeat.interval.ms", INT, "5000", MEDIUM, CLUSTER_WIDE, at_least(1)),
    ConfigKey("streams.initial.rebalance.delay.ms", INT, "3000", MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("streams.num.standby.replicas", INT, "0", MEDIUM, CLUSTER_WIDE, at_least(0)),
    ConfigKey("streams.session.timeout.ms", INT, "45000", MEDIUM, CLUSTER_WIDE, at_least(1)),
)
