"""Every API at every version that Apache Kafka 4.3 serves, over bare sockets."""

import json
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.raw import RawClient, frame
from tests.integration.clients.requests import batch, fetch, produce, topic_id, values_in

from barnabas.testing import Broker

# What ApiVersions of Apache Kafka 4.3.1 says. Produce: 0 for the sake of old clients, served from 3 on.
_SERVED = {
    0: (0, 13),
    1: (4, 18),
    2: (1, 11),
    3: (0, 13),
    8: (2, 10),
    9: (1, 10),
    10: (0, 6),
    11: (0, 9),
    12: (0, 4),
    13: (0, 5),
    14: (0, 5),
    15: (0, 6),
    16: (0, 5),
    18: (0, 4),
    19: (2, 7),
    20: (1, 6),
    21: (0, 2),
    22: (0, 5),
    23: (2, 4),
    32: (1, 4),
    33: (0, 2),
    35: (1, 5),
    37: (0, 3),
    42: (0, 2),
    44: (0, 1),
    47: (0, 0),
    60: (0, 2),
    61: (0, 0),
    68: (0, 1),
    69: (0, 1),
    75: (0, 0),
}
_TOPIC = 2
_SET = 0
_GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3" / "configs.json"
_TYPES = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")


def versions(key: int) -> pytest.MarkDecorator:
    lowest, highest = _SERVED[key]
    return pytest.mark.parametrize("version", range(max(lowest, 3 if key == 0 else 0), highest + 1))


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


def _ranges(answer: Any) -> dict[int, tuple[int, int]]:
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}


@versions(18)
def test_api_versions(client: RawClient, version: int) -> None:
    software = {"client_software_name": "raw", "client_software_version": "1"}
    answer = client.call("api_versions", version, **software)
    assert answer.error_code == 0
    assert _ranges(answer).items() >= _SERVED.items()


def test_api_versions_of_the_future_is_answered_in_version_0(client: RawClient) -> None:
    no_tags = b"\x00"
    client.send_bytes(frame(struct.pack(">hhih", 18, 99, 7, -1) + no_tags + b"words of the future"))
    answer = client.receive("api_versions", 0, 7)
    assert answer.error_code == ErrorCode.unsupported_version
    assert _ranges(answer) == {18: (0, 4)}
    assert client.call("metadata", 1, topics=[]).brokers


def test_api_versions_wants_a_proper_name(client: RawClient) -> None:
    answer = client.call("api_versions", 3, client_software_name="-", client_software_version="1")
    assert answer.error_code == ErrorCode.invalid_request


@versions(0)
def test_produce(client: RawClient, kafka_topic: str, version: int) -> None:
    number = topic_id(client, kafka_topic)
    answer = produce(client, kafka_topic, batch(b"v%d" % version), version=version, number=number)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert values_in(fetch(client, kafka_topic, 0).records) == [b"v%d" % version]


@versions(1)
def test_fetch(client: RawClient, kafka_topic: str, version: int) -> None:
    produce(client, kafka_topic, batch(b"a", b"b"))
    number = topic_id(client, kafka_topic)
    fetched = fetch(client, kafka_topic, 1, version=version, number=number)
    assert (fetched.error_code, fetched.high_watermark) == (0, 2)
    assert values_in(fetched.records) == [b"a", b"b"]


def test_topic_id_of_no_topic(client: RawClient, kafka_topic: str) -> None:
    unknown = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    answer = produce(client, kafka_topic, batch(b"a"), version=13, number=unknown)
    assert answer.error_code == ErrorCode.unknown_topic_id
    fetched = fetch(client, kafka_topic, 0, version=17, number=unknown)
    assert fetched.error_code == ErrorCode.unknown_topic_id


@versions(2)
def test_list_offsets(client: RawClient, kafka_topic: str, version: int) -> None:
    produce(client, kafka_topic, batch(b"a", b"b"))
    topics = [{"name": kafka_topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]
    answer = client.call(
        "list_offsets", version, replica_id=-1, isolation_level=0, topics=topics, timeout=1000
    )
    partition = answer.topics[0].partitions[0]
    assert (partition.error_code, partition.offset) == (0, 2)


@versions(3)
def test_metadata(client: RawClient, kafka_topic: str, kafka_broker: Broker, version: int) -> None:
    answer = client.call(
        "metadata",
        version,
        topics=[{"name": kafka_topic, "topic_id": None}],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    (broker,) = answer.brokers
    assert (broker.host, broker.port) == ("127.0.0.1", kafka_broker.port)
    (topic,) = answer.topics
    (partition,) = topic.partitions
    assert (topic.name, topic.error_code) == (kafka_topic, 0)
    assert partition.leader_id == broker.node_id
    assert partition.isr_nodes == partition.replica_nodes == (broker.node_id,)


@versions(19)
def test_create_topics(client: RawClient, kafka_broker: Broker, version: int) -> None:
    name = f"created-by-version-{version}"
    config = {"name": "retention.ms", "value": "5000"}
    spec = {
        "name": name,
        "num_partitions": 2,
        "replication_factor": 1,
        "assignments": [],
        "configs": [config],
    }
    (created,) = client.call(
        "create_topics", version, topics=[spec], timeout=5000, validate_only=False
    ).topics
    assert (created.name, created.error_code) == (name, 0)
    if version >= 5:
        assert (created.num_partitions, created.replication_factor) == (2, 1)
        assert {each.name: each.value for each in created.configs}["retention.ms"] == "5000"
    assert name in kafka_broker.topics()


@versions(20)
def test_delete_topics(client: RawClient, kafka_broker: Broker, version: int) -> None:
    name = f"deleted-by-version-{version}"
    kafka_broker.create_topic(name)
    named: dict[str, object] = {"topic_names": [name], "topics": [{"name": name, "topic_id": None}]}
    (deleted,) = client.call("delete_topics", version, timeout=5000, **named).responses
    assert (deleted.name, deleted.error_code) == (name, 0)
    assert name not in kafka_broker.topics()


def test_topic_is_deleted_by_its_id(client: RawClient, kafka_broker: Broker) -> None:
    kafka_broker.create_topic("by-id")
    topics = [{"name": None, "topic_id": topic_id(client, "by-id")}]
    (deleted,) = client.call("delete_topics", 6, timeout=5000, topics=topics).responses
    assert (deleted.name, deleted.error_code) == ("by-id", 0)
    assert "by-id" not in kafka_broker.topics()


@versions(21)
def test_delete_records(client: RawClient, kafka_topic: str, version: int) -> None:
    produce(client, kafka_topic, batch(b"a", b"b", b"c"))
    topics = [{"name": kafka_topic, "partitions": [{"partition_index": 0, "offset": 2}]}]
    answer = client.call("delete_records", version, topics=topics, timeout=5000)
    partition = answer.topics[0].partitions[0]
    assert (partition.error_code, partition.low_watermark) == (0, 2)


@versions(22)
def test_init_producer_id(client: RawClient, version: int) -> None:
    wanted = {"transactional_id": None, "transaction_timeout": 0, "producer_id": -1, "producer_epoch": -1}
    answer = client.call("init_producer_id", version, **wanted)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    assert answer.producer_id >= 0


@versions(23)
def test_offset_for_leader_epoch(client: RawClient, kafka_topic: str, version: int) -> None:
    produce(client, kafka_topic, batch(b"a", b"b"))

    def ask(epoch: int, current: int = -1) -> tuple[int, int, int]:
        partitions = [{"partition": 0, "leader_epoch": epoch, "current_leader_epoch": current}]
        topics = [{"topic": kafka_topic, "partitions": partitions}]
        answer = client.call("offset_for_leader_epoch", version, replica_id=-2, topics=topics)
        (found,) = answer.topics[0].partitions
        return found.error_code, found.leader_epoch, found.end_offset

    assert ask(0) == (0, 0, 2)
    assert ask(5) == (0, -1, -1)
    assert ask(0, current=9)[0] == ErrorCode.unknown_leader_epoch


@versions(32)
def test_describe_configs(client: RawClient, kafka_topic: str, version: int) -> None:
    resources = [
        {"resource_type": _TOPIC, "resource_name": kafka_topic, "configuration_keys": ["segment.ms"]}
    ]
    answer = client.call("describe_configs", version, resources=resources, include_synonyms=True)
    (result,) = answer.results
    (config,) = result.configs
    assert (result.error_code, config.name, config.value) == (0, "segment.ms", "604800000")


def test_configurations_come_with_type_documentation_and_synonyms(
    client: RawClient, kafka_topic: str
) -> None:
    golden: dict[str, dict[str, Any]] = json.loads(_GOLDEN.read_text())["topic"]
    resources = [{"resource_type": _TOPIC, "resource_name": kafka_topic, "configuration_keys": None}]
    requested = {"include_synonyms": True, "include_documentation": True}
    (result,) = client.call("describe_configs", 4, resources=resources, **requested).results
    found = {config.name: config for config in result.configs}
    assert {name: _TYPES[found[name].config_type] for name in golden} == {
        name: entry["type"] for name, entry in golden.items()
    }
    assert [name for name in golden if not found[name].documentation] == []
    names = {name: {each.name for each in found[name].synonyms} for name in golden}
    for name, entry in golden.items():
        assert names[name] & set(entry.get("broker_synonym", [])) or not entry.get("broker_synonym"), name


@versions(33)
def test_alter_configs(client: RawClient, kafka_topic: str, version: int) -> None:
    configs = [{"name": "retention.ms", "value": "7000"}]
    resources = [{"resource_type": _TOPIC, "resource_name": kafka_topic, "configs": configs}]
    (result,) = client.call("alter_configs", version, resources=resources, validate_only=False).responses
    assert (result.error_code, result.resource_name) == (0, kafka_topic)


@versions(44)
def test_incremental_alter_configs(client: RawClient, kafka_topic: str, version: int) -> None:
    configs = [{"name": "retention.ms", "value": "7000", "config_operation": _SET}]
    resources = [{"resource_type": _TOPIC, "resource_name": kafka_topic, "configs": configs}]
    answer = client.call("incremental_alter_configs", version, resources=resources, validate_only=False)
    (result,) = answer.responses
    assert (result.error_code, result.resource_name) == (0, kafka_topic)


@versions(35)
def test_describe_log_dirs(client: RawClient, kafka_topic: str, version: int) -> None:
    produce(client, kafka_topic, batch(b"a"))
    topics = [{"topic": kafka_topic, "partitions": [0]}]
    (result,) = client.call("describe_log_dirs", version, topics=topics).results
    ((partition,),) = (topic.partitions for topic in result.topics)
    assert (result.error_code, partition.partition_index, partition.is_future_key) == (0, 0, False)
    assert partition.partition_size == len(batch(b"a"))


@versions(37)
def test_create_partitions(client: RawClient, kafka_topic: str, version: int) -> None:
    topics = [{"name": kafka_topic, "count": 3, "assignments": None}]
    answer = client.call("create_partitions", version, topics=topics, timeout=5000, validate_only=False)
    (result,) = answer.results
    assert (result.name, result.error_code) == (kafka_topic, 0)


@versions(60)
def test_describe_cluster(client: RawClient, kafka_broker: Broker, version: int) -> None:
    answer = client.call(
        "describe_cluster",
        version,
        include_cluster_authorized_operations=False,
        include_fenced_brokers=False,
        endpoint_type=1,
    )
    (broker,) = answer.brokers
    assert (answer.error_code, broker.host, broker.port) == (0, "127.0.0.1", kafka_broker.port)
    assert answer.controller_id == broker.broker_id


@versions(61)
def test_describe_producers(client: RawClient, kafka_topic: str, version: int) -> None:
    produce(client, kafka_topic, batch(b"a", b"b", producer_id=77, producer_epoch=3, base_sequence=0))
    topics = [{"name": kafka_topic, "partition_indexes": [0, 5]}]
    known, unknown = client.call("describe_producers", version, topics=topics).topics[0].partitions
    (producer,) = known.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (77, 3, 1)
    assert unknown.error_code == ErrorCode.unknown_topic_or_partition


@versions(75)
def test_describe_topic_partitions(client: RawClient, kafka_topic: str, version: int) -> None:
    topics = [{"name": kafka_topic}, {"name": "unknown-topic"}]
    answer = client.call("describe_topic_partitions", version, topics=topics, response_partition_limit=100)
    codes = {topic.name: topic.error_code for topic in answer.topics}
    assert codes == {kafka_topic: 0, "unknown-topic": ErrorCode.unknown_topic_or_partition}
