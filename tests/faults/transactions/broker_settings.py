"""The settings of the brokers whose transactions are put under faults: nothing waits for long."""

SETTINGS: dict[str, object] = {
    "offsets.topic.num.partitions": 3,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 3,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "group.initial.rebalance.delay.ms": 100,
    "group.min.session.timeout.ms": 100,
}
