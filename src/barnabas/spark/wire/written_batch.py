"""Finds out whether a batch whose response was lost is in the log, by reading the log.

A broker that restarts remembers only the last batch of a producer (as Kafka's snapshots do), and nothing of
one whose records bear times of more than a day ago (`producer.id.expiration.ms`): it would take a batch that
it has for a new one. So the log itself is read before a batch is sent again whose connection broke, and when
a batch that was sent before is reported as out of order. Kafka's producer does neither.
"""

import time

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.offsets import end_offsets
from barnabas.client.cluster import Cluster
from barnabas.records.batch import parse_header
from barnabas.spark.wire.identity import ProducerIdentity
from barnabas.spark.wire.partition_fetch import FetchSettings, PartitionFetcher

_PATIENCE = 2.0
"""How long followers may take to catch up with what the leader has: nothing newer can be read, in seconds."""
_PAUSE = 0.1


def written_at(
    cluster: Cluster,
    topic_partition: TopicPartition,
    after: int,
    identity: ProducerIdentity,
    sequence: int,
    *,
    is_patient: bool,
) -> int | None:
    """The offset of the batch of this producer and sequence, somewhere behind offset `after`; or None.

    `is_patient` waits for a moment that it becomes readable. Raises BrokerError and what a reader raises.
    """
    topic, partition = topic_partition
    position = after + 1
    deadline = time.monotonic() + (_PATIENCE if is_patient else 0.0)
    fetcher = PartitionFetcher(cluster, topic, partition, FetchSettings())
    while True:
        end = end_offsets(cluster, [topic_partition])[topic_partition]
        for chunk in fetcher.chunks(position, end):
            records = chunk.records
            while len(records):
                header = parse_header(records)
                found = header.producer_id, header.producer_epoch, header.base_sequence
                if found == (*identity, sequence):
                    return header.base_offset
                records = records[header.size :]
        position = max(position, end)
        if time.monotonic() >= deadline:
            return None
        time.sleep(_PAUSE)
