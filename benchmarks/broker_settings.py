"""Settings both brokers are started with, so that only the brokers differ.

Groups: no initial delay, and for the consumer protocol a heartbeat interval of 100 ms and no interval between
assignments; by default (5 s and 1 s) waiting would be all that is measured. Likewise a transaction that
begins before the markers of the last are written is tried again after 1 ms instead of 20. The cleaner looks
every 100 ms for something to clean instead of every 15 s, and files of deleted topics go after 100 ms instead
of a minute.
"""

from __future__ import annotations

GROUP_HEARTBEAT_MS = 100

COMMON = f"""offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
group.consumer.min.heartbeat.interval.ms={GROUP_HEARTBEAT_MS}
group.consumer.heartbeat.interval.ms={GROUP_HEARTBEAT_MS}
group.consumer.assignment.interval.ms=0
add.partitions.to.txn.retry.backoff.ms=1
log.cleaner.backoff.ms=100
log.segment.delete.delay.ms=100
"""
