"""The hand-made requests and answers of the generators are what kio reads and writes."""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any, cast

import pytest
from benchmarks import protocol
from benchmarks.batches import batch
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from kio.schema.create_topics.v5.request import CreateTopicsRequest
from kio.schema.delete_topics.v4.request import DeleteTopicsRequest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.fetch.v12.response import FetchableTopicResponse, FetchResponse, PartitionData
from kio.schema.incremental_alter_configs.v1.request import IncrementalAlterConfigsRequest
from kio.schema.incremental_alter_configs.v1.response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kio.schema.metadata.v9.request import MetadataRequest
from kio.schema.metadata.v9.response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kio.schema.produce.v9.request import ProduceRequest
from kio.schema.produce.v9.response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kio.schema.produce.v12.request import ProduceRequest as TransactionalProduceRequest
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i32Timedelta, i64
from tests.unit.benchmarks.kio_frames import parse, response


def produced(partitions: int, error: ErrorCode) -> bytes:
    answers = tuple(
        PartitionProduceResponse(
            index=i32(index),
            error_code=error if index == partitions - 1 else ErrorCode.none,
            base_offset=i64(5),
            log_append_time=None,
            log_start_offset=i64(0),
            record_errors=(),
            error_message=None,
        )
        for index in range(partitions)
    )
    topic = TopicProduceResponse(name=TopicName("bench-00001"), partition_responses=answers)
    return response(ProduceResponse(responses=(topic,), throttle_time=i32Timedelta.parse(timedelta())))


def test_produce_parses_back() -> None:
    records = batch([b"a", b"b"])
    request: ProduceRequest = parse(
        ProduceRequest, protocol.produce("t", [(0, records), (7, records)], acks=-1)
    )
    assert request.acks == -1
    (topic,) = request.topic_data
    assert topic.name == "t"
    assert [(part.index, bytes(part.records or b"")) for part in topic.partition_data] == [
        (0, records),
        (7, records),
    ]


def test_produce_in_a_transaction_is_of_the_version_that_adds_partitions() -> None:
    records = batch([b"a"], is_transactional=True)
    encoded = protocol.produce("t", [(3, records)], acks=-1, transactional_id="tx")
    request: TransactionalProduceRequest = parse(TransactionalProduceRequest, encoded)
    assert encoded[4:8] == b"\x00\x00\x00\x0c"
    assert request.transactional_id == "tx"
    assert [(part.index, bytes(part.records or b"")) for part in request.topic_data[0].partition_data] == [
        (3, records)
    ]


def test_fetch_requests_committed_records_only_if_set() -> None:
    for is_committed_only, level in ((False, 0), (True, 1)):
        encoded = protocol.fetch("t", [(0, 0)], 1000, is_committed_only=is_committed_only)
        request: FetchRequest = parse(FetchRequest, encoded)
        assert request.isolation_level == level


def test_fetch_parses_back_without_a_session() -> None:
    request: FetchRequest = parse(
        FetchRequest, protocol.fetch("t", [(0, 10), (1, 20)], 1000, max_wait_ms=250)
    )
    assert (request.session_id, request.session_epoch) == (0, -1)
    assert request.max_wait == timedelta(milliseconds=250)
    (topic,) = request.topics
    assert [(part.partition, part.fetch_offset, part.partition_max_bytes) for part in topic.partitions] == [
        (0, 10, 1000),
        (1, 20, 1000),
    ]


def test_metadata_of_all_topics_and_of_none_parse_back() -> None:
    every: MetadataRequest = parse(MetadataRequest, protocol.metadata(None))
    none: MetadataRequest = parse(MetadataRequest, protocol.metadata([]))
    assert every.topics is None
    assert none.topics == ()
    assert not none.allow_auto_topic_creation


def test_create_and_delete_topic_parse_back() -> None:
    create: CreateTopicsRequest = parse(CreateTopicsRequest, protocol.create_topic("t", 100))
    delete: DeleteTopicsRequest = parse(DeleteTopicsRequest, protocol.delete_topic("t"))
    (topic,) = create.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 100, 1)
    assert delete.topic_names == ("t",)


def test_topic_configs_parse_back() -> None:
    configs = {"cleanup.policy": "compact", "segment.bytes": "1000"}
    create: CreateTopicsRequest = parse(CreateTopicsRequest, protocol.create_topic("t", 1, configs))
    alter: IncrementalAlterConfigsRequest = parse(
        IncrementalAlterConfigsRequest, protocol.alter_topic_configs("t", configs)
    )
    assert {config.name: config.value for config in create.topics[0].configs} == configs
    (resource,) = alter.resources
    assert (resource.resource_type, resource.resource_name) == (2, "t")
    assert {config.name: (config.config_operation, config.value) for config in resource.configs} == {
        key: (0, value) for key, value in configs.items()
    }


def test_a_refused_configuration_is_noticed() -> None:
    for error in (ErrorCode.none, ErrorCode.invalid_config):
        entity = IncrementalAlterConfigsResponse(
            throttle_time=i32Timedelta.parse(timedelta()),
            responses=(
                AlterConfigsResourceResponse(
                    error_code=error, error_message="why", resource_type=i8(2), resource_name="t"
                ),
            ),
        )
        with pytest.raises(UnexpectedAnswer, match="why") if error.value else nullcontext():
            protocol.check_configs_altered(response(entity))


def test_produce_answer_knows_length_and_error_positions() -> None:
    for partitions in (1, 100, 200):
        answer = ProduceAnswer("bench-00001", partitions)
        good = produced(partitions, ErrorCode.none)
        assert answer.size == len(good)
        assert answer.first_error(good) == 0
        assert answer.first_error(produced(partitions, ErrorCode.not_leader_or_follower)) == 6


def test_metadata_response_counts_led_partitions() -> None:
    partitions = tuple(
        MetadataResponsePartition(
            error_code=ErrorCode.none if leader >= 0 else ErrorCode.leader_not_available,
            partition_index=i32(index),
            leader_id=BrokerId(leader),
            leader_epoch=i32(0),
            replica_nodes=(BrokerId(1),),
            isr_nodes=(BrokerId(1),),
            offline_replicas=(),
        )
        for index, leader in enumerate([1, 1, -1])
    )
    topic = MetadataResponseTopic(error_code=ErrorCode.none, name=TopicName("t"), partitions=partitions)
    entity = MetadataResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        brokers=(MetadataResponseBroker(node_id=BrokerId(1), host="127.0.0.1", port=i32(9092), rack=None),),
        cluster_id="cluster",
        controller_id=BrokerId(1),
        topics=(topic, topic),
    )
    view = protocol.parse_metadata(response(entity))
    led, leaderless = protocol.PartitionView(0, 1, (1,)), protocol.PartitionView(5, -1, (1,))
    assert view == protocol.ClusterView({1: 9092}, 1, {"t": {0: led, 1: led, 2: leaderless}})
    assert (view.brokers, view.led_partitions) == (1, {"t": 2})


def test_fetch_response_gives_the_position_of_the_records() -> None:
    records = batch([b"value"])
    partition = PartitionData(
        partition_index=i32(3),
        error_code=ErrorCode.none,
        high_watermark=i64(1),
        last_stable_offset=i64(1),
        log_start_offset=i64(0),
        aborted_transactions=None,
        preferred_read_replica=BrokerId(-1),
        records=cast(Any, records),
    )
    entity = FetchResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        error_code=ErrorCode.none,
        session_id=i32(0),
        responses=(FetchableTopicResponse(topic=TopicName("t"), partitions=(partition,)),),
    )
    encoded = response(entity)
    (fetched,) = protocol.parse_fetch(encoded)
    assert (fetched.partition, fetched.error) == (3, 0)
    assert encoded[fetched.start : fetched.start + fetched.size] == records
