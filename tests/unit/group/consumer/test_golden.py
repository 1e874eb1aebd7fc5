"""A consumer group in the log of Apache Kafka 4.3: read as it is, and the same requests write the same."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from tests.unit.group.consumer.consumer_shard import ConsumerShard

from barnabas.group.consumer.replay import ConsumerRecord
from barnabas.group.environment import RequestContext
from barnabas.group.record_codec import decode_record
from barnabas.group.records import (
    ClassicGroupMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupTargetAssignmentMetadata,
    OffsetCommit,
)
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.records.batch import iter_headers
from barnabas.records.record import decode_records

LOG = (
    Path(__file__).parents[3]
    / "golden/apache-kafka-4.3/log-dir/__consumer_offsets-0/00000000000000000000.log"
)
GROUP = "golden-consumer"
MEMBER = "M0EM0/WLSPyqjjdiu14Qjg"
CODECS = UUID("19fd5cea-9d5e-43ee-85aa-8f57e34c1049")
PLAIN = UUID("bb05021a-e83e-4c17-89a1-ed03cfd61cbd")


def _records() -> list[ConsumerRecord]:
    log = LOG.read_bytes()
    found = [
        decode_record(record.key or b"", record.value)
        for position, header in iter_headers(log)
        for record in decode_records(log[position : position + header.size])
    ]
    return [
        record
        for record in found
        if record is not None and not isinstance(record, OffsetCommit | ClassicGroupMetadata)
    ]


def _timeless(record: ConsumerRecord) -> ConsumerRecord:
    """Without the time, and without the hash, whose function is not Kafka's."""
    if isinstance(record, ConsumerGroupMetadata) and record.value is not None:
        return replace(record, value=replace(record.value, metadata_hash=0))
    if isinstance(record, ConsumerGroupTargetAssignmentMetadata) and record.value is not None:
        return replace(record, value=replace(record.value, assignment_timestamp_ms=0))
    return record


def test_kafkas_log_makes_the_group_it_had() -> None:
    shard = ConsumerShard()
    records = _records()
    for record in records[:5]:
        shard.consumer_groups.replay(record)
    group = shard.groups.get(GROUP)
    assert group.state_name == "Stable"
    assert group.is_subscribed_to("plain")
    for record in records[5:]:
        shard.consumer_groups.replay(record)
    assert group.state_name == "Empty"
    assert not group.is_subscribed_to("plain")


def test_the_same_requests_write_the_same_records() -> None:
    shard = ConsumerShard()
    topics = [_topic("codecs", CODECS, 5), _topic("plain", PLAIN, 1)]
    shard.environment.image = ClusterImage(
        topics={topic.name: topic for topic in topics},
        topic_by_id={topic.topic_id: topic for topic in topics},
    )
    context = RequestContext(1, "rdkafka", "/127.0.0.1")
    shard.join(
        MEMBER,
        ["plain", "codecs"],
        group_id=GROUP,
        timeout=300_000,
        subscribed_topic_regex="",
        context=context,
    )
    shard.heartbeat(MEMBER, 2, group_id=GROUP, context=context).result()
    shard.heartbeat(MEMBER, -1, group_id=GROUP, context=context).result()
    assert [_timeless(record) for record in shard.driver.records] == [
        _timeless(record) for record in _records()
    ]


def _topic(name: str, topic_id: UUID, count: int) -> TopicImage:
    partitions = {each: PartitionImage(each, 1, 0, (1,), (1,), (), (), 0) for each in range(count)}
    return TopicImage(name, topic_id, partitions)
