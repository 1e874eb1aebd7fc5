"""Topics, partitions, configurations and offsets, administered with the clients' own admin interfaces."""

import asyncio
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.drivers.confluent import ConfluentDriver
from tests.integration.clients.messages import Message, Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import EARLIEST, batch, list_offset, produce, topic_id
from tests.patience import NEVER_MS, PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("confluent_kafka")
_GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3" / "configs.json"


def _api() -> Any:
    """confluent_kafka.admin, whose names are not exported by mypy's rules."""
    return import_module("confluent_kafka.admin")


@pytest.fixture
def admin(kafka_broker: Broker) -> Any:
    api = _api()

    return api.AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers, "log_level": 0})


def _done(futures: dict[Any, Any]) -> Any:
    """The result of the one future."""
    (future,) = futures.values()
    return future.result(PATIENCE)


def _error(futures: dict[Any, Any]) -> str:
    from confluent_kafka import KafkaException

    with pytest.raises(KafkaException) as raised:
        _done(futures)
    name: str = raised.value.args[0].name()
    return name


def _new_topic(name: str, partitions: int = 1, **options: Any) -> Any:
    api = _api()

    return api.NewTopic(name, partitions, **options)


def _config(admin: Any, topic: str) -> dict[str, Any]:
    api = _api()

    entries: dict[str, Any] = _done(admin.describe_configs([api.ConfigResource("topic", topic)]))
    return entries


def _alter(admin: Any, topic: str, *changes: tuple[str, str | None, str], validate_only: bool = False) -> Any:
    api = _api()

    entries = [
        api.ConfigEntry(name, value, incremental_operation=api.AlterConfigOpType[operation])
        for name, value, operation in changes
    ]
    resource = api.ConfigResource("topic", topic, incremental_configs=entries)
    return admin.incremental_alter_configs([resource], validate_only=validate_only)


# --- topics ----------------------------------------------------------------------------------------------


def test_topic_is_created_as_requested(admin: Any) -> None:
    from confluent_kafka import TopicCollection

    _done(admin.create_topics([_new_topic("orders", 3, config={"retention.ms": "60000"})]))
    description = _done(admin.describe_topics(TopicCollection(["orders"])))
    assert [each.id for each in description.partitions] == [0, 1, 2]
    assert all(each.leader.id == each.replicas[0].id == each.isr[0].id for each in description.partitions)
    assert _config(admin, "orders")["retention.ms"].value == "60000"
    assert "orders" in admin.list_topics(timeout=PATIENCE).topics


def test_topic_without_numbers_takes_the_brokers_defaults(admin: Any) -> None:
    _done(admin.create_topics([_new_topic("plain", -1, replication_factor=-1)]))
    assert len(admin.list_topics("plain", timeout=PATIENCE).topics["plain"].partitions) == 1


@pytest.mark.parametrize(
    ("name", "partitions", "options", "expected"),
    [
        ("taken", 1, {}, "TOPIC_ALREADY_EXISTS"),
        ("illegal name", 1, {}, "TOPIC_EXCEPTION"),
        ("no-partitions", 0, {}, "INVALID_PARTITIONS"),
        ("replicas", 1, {"replication_factor": 3}, "INVALID_REPLICATION_FACTOR"),
        ("bad-value", 1, {"config": {"retention.ms": "soon"}}, "INVALID_CONFIG"),
        ("bad-key", 1, {"config": {"retention.days": "1"}}, "INVALID_CONFIG"),
        ("bad-replica", 1, {"replica_assignment": [[999]]}, "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_topic_that_cannot_be_is_refused(
    admin: Any, kafka_broker: Broker, name: str, partitions: int, options: dict[str, Any], expected: str
) -> None:
    kafka_broker.create_topic("taken")
    assert _error(admin.create_topics([_new_topic(name, partitions, **options)])) == expected
    assert kafka_broker.topics() & {name} <= {"taken"}


def test_names_that_collide_in_metrics_are_refused(admin: Any, kafka_broker: Broker) -> None:
    kafka_broker.create_topic("a.b")
    assert _error(admin.create_topics([_new_topic("a_b")])) == "TOPIC_EXCEPTION"


def test_validation_alone_creates_nothing(admin: Any, kafka_broker: Broker) -> None:
    _done(admin.create_topics([_new_topic("maybe")], validate_only=True))
    assert _error(admin.create_topics([_new_topic("maybe", 0)], validate_only=True)) == "INVALID_PARTITIONS"
    assert "maybe" not in kafka_broker.topics()


def test_deleted_topic_does_not_exist_and_can_be_created_anew(admin: Any, kafka_broker: Broker) -> None:
    kafka_broker.create_topic("phoenix")
    with RawClient(kafka_broker.port) as client:
        before = topic_id(client, "phoenix")
        produce(client, "phoenix", batch(b"ashes"))
        _done(admin.delete_topics(["phoenix"]))
        assert "phoenix" not in kafka_broker.topics()
        assert _error(admin.delete_topics(["phoenix"])) == "UNKNOWN_TOPIC_OR_PART"
        kafka_broker.create_topic("phoenix")
        assert topic_id(client, "phoenix") != before
        assert produce(client, "phoenix", batch(b"new")).base_offset == 0


@pytest.fixture
def patient_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """In this process; what was deleted just now stays so for the whole test, however slow the machine is."""
    monkeypatch.setattr("barnabas.handlers.deleted_topics.GRACE_SECONDS", NEVER_MS / 1000)
    with Broker() as broker:
        yield broker


def test_deleted_topic_does_not_come_back_when_somebody_looks_for_it(patient_broker: Broker) -> None:
    """The request of librdkafka allows the creation of the topic that it asks for."""
    from confluent_kafka import KafkaError

    admin = _api().AdminClient({"bootstrap.servers": patient_broker.bootstrap_servers, "log_level": 0})
    patient_broker.create_topic("looked-for")
    _done(admin.delete_topics(["looked-for"]))
    found = admin.list_topics("looked-for", timeout=PATIENCE).topics["looked-for"]
    assert found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert patient_broker.topics() == set()


def test_producer_that_runs_on_does_not_bring_a_deleted_topic_back(patient_broker: Broker) -> None:
    patient_broker.create_topic("produced-to")
    with RawClient(patient_broker.port) as client:
        assert produce(client, "produced-to", batch(b"before")).error_code == 0
        patient_broker.delete_topic("produced-to")
        code = produce(client, "produced-to", batch(b"after")).error_code
    assert code == ErrorCode.unknown_topic_or_partition
    assert patient_broker.topics() == set()


def test_partitions_are_added_and_never_taken_away(
    admin: Any, kafka_broker: Broker, kafka_topic: str
) -> None:
    api = _api()

    _done(admin.create_partitions([api.NewPartitions(kafka_topic, 4)]))
    assert len(admin.list_topics(kafka_topic, timeout=PATIENCE).topics[kafka_topic].partitions) == 4
    driver = ConfluentDriver(kafka_broker.bootstrap_servers, Settings())
    driver.produce(kafka_topic, [Message(b"k", b"in the new one", partition=3)])
    driver.close()
    assert _error(admin.create_partitions([api.NewPartitions(kafka_topic, 2)])) == "INVALID_PARTITIONS"
    assert _error(admin.create_partitions([api.NewPartitions(kafka_topic, 4)])) == "INVALID_PARTITIONS"
    assert _error(admin.create_partitions([api.NewPartitions("nobody", 4)])) == "UNKNOWN_TOPIC_OR_PART"


def test_topics_are_there_after_a_restart(admin: Any, kafka_broker: Broker) -> None:
    kafka_broker.create_topic("kept", 2, {"retention.ms": 12345})
    kafka_broker.create_topic("dropped")
    kafka_broker.delete_topic("dropped")
    kafka_broker.restart()
    assert _config(admin, "kept")["retention.ms"].value == "12345"
    assert {"kept"} <= kafka_broker.topics()
    assert "dropped" not in kafka_broker.topics()


def test_cluster_is_one_broker_that_is_its_own_controller(admin: Any, kafka_broker: Broker) -> None:
    cluster = admin.describe_cluster().result(PATIENCE)
    (node,) = cluster.nodes
    assert (node.host, node.port) == ("127.0.0.1", kafka_broker.port)
    assert cluster.controller.id == node.id
    assert len(cluster.cluster_id) == 22


# --- configurations --------------------------------------------------------------------------------------


def test_every_topic_default_is_kafkas(admin: Any, kafka_topic: str) -> None:
    api = _api()

    golden: dict[str, dict[str, Any]] = json.loads(_GOLDEN.read_text())["topic"]
    described = _config(admin, kafka_topic)
    assert described.keys() >= golden.keys()
    differing = {name for name in golden if described[name].value != golden[name]["default"]}
    assert differing == {"file.delete.delay.ms", "retention.ms"}  # `barnabas.testing` has its own
    # Apache Kafka 4.3 writes min.insync.replicas into the cluster's dynamic defaults by itself (KIP-966).
    sources = {
        api.ConfigSource(each.source)
        for name, each in described.items()
        if name not in differing | {"min.insync.replicas"}
    }
    assert sources == {api.ConfigSource.DEFAULT_CONFIG}
    assert not any(each.is_read_only or each.is_sensitive for each in described.values())


def test_broker_describes_itself(admin: Any) -> None:
    api = _api()

    golden: dict[str, dict[str, Any]] = json.loads(_GOLDEN.read_text())["broker"]
    (node,) = admin.describe_cluster().result(PATIENCE).nodes
    described = _done(admin.describe_configs([api.ConfigResource("broker", str(node.id))]))
    # Type 0: set but unknown to Kafka; the last is an internal key, listed only when it is set.
    known = {name for name, entry in golden.items() if entry["type"] != 0} - {"unstable.api.versions.enable"}
    assert known <= described.keys()
    for name in known & described.keys():
        assert described[name].is_read_only == golden[name]["read_only"], name
        assert described[name].is_sensitive == golden[name]["sensitive"], name


def test_changes_are_incremental(admin: Any, kafka_topic: str) -> None:
    api = _api()

    _done(
        _alter(admin, kafka_topic, ("retention.ms", "1000", "SET"), ("cleanup.policy", "compact", "APPEND"))
    )
    described = _config(admin, kafka_topic)
    assert described["retention.ms"].value == "1000"
    assert api.ConfigSource(described["retention.ms"].source) == api.ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert described["cleanup.policy"].value == "delete,compact"

    _done(
        _alter(admin, kafka_topic, ("retention.ms", None, "DELETE"), ("cleanup.policy", "delete", "SUBTRACT"))
    )
    described = _config(admin, kafka_topic)
    assert described["retention.ms"].value == "-1"
    assert described["cleanup.policy"].value == "compact"


def test_configuration_that_cannot_be_is_refused(admin: Any, kafka_topic: str) -> None:
    assert _error(_alter(admin, kafka_topic, ("retention.ms", "long", "SET"))) == "INVALID_CONFIG"
    assert _error(_alter(admin, kafka_topic, ("retention", "1", "SET"))) == "INVALID_CONFIG"
    assert _error(_alter(admin, kafka_topic, ("retention.ms", "1", "APPEND"))) == "INVALID_CONFIG"
    assert _error(_alter(admin, "nobody", ("retention.ms", "1", "SET"))) == "UNKNOWN_TOPIC_OR_PART"
    _done(_alter(admin, kafka_topic, ("retention.ms", "1000", "SET"), validate_only=True))
    assert _config(admin, kafka_topic)["retention.ms"].value == "-1"


def test_changed_configuration_counts_at_once(admin: Any, kafka_broker: Broker, kafka_topic: str) -> None:
    with RawClient(kafka_broker.port) as client:
        assert produce(client, kafka_topic, batch(b"x" * 1000)).error_code == 0
        _done(_alter(admin, kafka_topic, ("max.message.bytes", "500", "SET")))
        assert produce(client, kafka_topic, batch(b"x" * 1000)).error_code == ErrorCode.message_too_large
        _done(_alter(admin, kafka_topic, ("max.message.bytes", None, "DELETE")))
        assert produce(client, kafka_topic, batch(b"x" * 1000)).error_code == 0


# --- records and offsets ---------------------------------------------------------------------------------


@pytest.fixture
def timed(kafka_broker: Broker, kafka_topic: str) -> Iterator[str]:
    """A topic of five records whose times are not in order."""
    driver = ConfluentDriver(kafka_broker.bootstrap_servers, Settings())
    times = (1_000, 2_000, 9_000, 3_000, 4_000)
    driver.produce(kafka_topic, [Message(b"k", b"v", timestamp=time) for time in times])
    yield kafka_topic
    driver.close()


def test_deleted_records_are_below_the_low_watermark(admin: Any, timed: str, kafka_broker: Broker) -> None:
    from confluent_kafka import Consumer, TopicPartition

    assert _done(admin.delete_records([TopicPartition(timed, 0, 3)])).low_watermark == 3
    with Consumer({"bootstrap.servers": kafka_broker.bootstrap_servers, "group.id": "none"}) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(timed, 0), timeout=PATIENCE) == (3, 5)
    assert _error(admin.delete_records([TopicPartition(timed, 0, 6)])) == "OFFSET_OUT_OF_RANGE"
    everything = TopicPartition(timed, 0, -1)
    assert _done(admin.delete_records([everything])).low_watermark == 5


def test_deleted_records_stay_deleted_after_a_restart(admin: Any, timed: str, kafka_broker: Broker) -> None:
    from confluent_kafka import TopicPartition

    _done(admin.delete_records([TopicPartition(timed, 0, 3)]))
    kafka_broker.restart()
    with RawClient(kafka_broker.port) as client:
        assert list_offset(client, timed, EARLIEST).offset == 3


def test_offsets_by_time_with_confluent(admin: Any, timed: str) -> None:
    from confluent_kafka import TopicPartition

    api = _api()

    def ask(spec: Any) -> int:
        offset: int = _done(admin.list_offsets({TopicPartition(timed, 0): spec})).offset
        return offset

    assert ask(api.OffsetSpec.earliest()) == 0
    assert ask(api.OffsetSpec.latest()) == 5
    assert ask(api.OffsetSpec.max_timestamp()) == 2
    assert [ask(api.OffsetSpec.for_timestamp(time)) for time in (0, 1_000, 1_001, 2_001)] == [0, 0, 1, 2]
    assert ask(api.OffsetSpec.for_timestamp(9_001)) == -1


# --- kafka-python ----------------------------------------------------------------------------------------


@pytest.fixture
def python_admin(kafka_broker: Broker) -> Iterator[Any]:
    from kafka import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
    yield admin
    admin.close()


@pytest.mark.needs("kafka")
def test_log_directories_tell_the_size_of_each_partition(python_admin: Any, timed: str) -> None:
    (broker,) = python_admin.describe_log_dirs()
    found = {
        (topic["name"], partition["partition_index"]): partition
        for directory in broker["log_dirs"]
        for topic in directory["topics"]
        for partition in topic["partitions"]
    }
    partition = found[timed, 0]
    assert partition["partition_size"] > 61
    assert (partition["offset_lag"], partition["is_future_key"]) == (0, False)
    assert all(directory["total_bytes"] > directory["usable_bytes"] > 0 for directory in broker["log_dirs"])


@pytest.mark.needs("kafka")
@pytest.mark.kafka_topic(partitions=5)
def test_topic_partitions_are_described_page_by_page(python_admin: Any, kafka_topic: str) -> None:
    pages: list[list[int]] = []
    cursor = None
    while cursor is not None or not pages:
        answer = python_admin.describe_topic_partitions(
            [kafka_topic], response_partition_limit=2, cursor=cursor
        )
        (topic,) = answer["topics"]
        pages.append([partition["partition_index"] for partition in topic["partitions"]])
        cursor = answer["next_cursor"]
    assert pages == [[0, 1], [2, 3], [4]]


@pytest.mark.needs("kafka")
def test_active_producers_are_described(python_admin: Any, kafka_broker: Broker, kafka_topic: str) -> None:
    from kafka import TopicPartition

    partition = TopicPartition(kafka_topic, 0)
    driver = ConfluentDriver(kafka_broker.bootstrap_servers, Settings(is_idempotent=True))
    driver.produce(kafka_topic, [Message(b"k", b"%d" % number) for number in range(3)])
    (producer,) = python_admin.describe_producers([partition])[partition].active_producers
    assert (producer.last_sequence, producer.current_transaction_start_offset) == (2, -1)
    driver.close()


@pytest.mark.needs("kafka")
def test_offsets_by_time_with_kafka_python(python_admin: Any, timed: str) -> None:
    from kafka import OffsetSpec, TopicPartition

    partition = TopicPartition(timed, 0)
    specs = (
        OffsetSpec.EARLIEST,
        OffsetSpec.LATEST,
        OffsetSpec.MAX_TIMESTAMP,
        OffsetSpec.EARLIEST_LOCAL,
        2_001,
    )
    found = [python_admin.list_partition_offsets({partition: spec})[partition] for spec in specs]
    assert [each.offset for each in found] == [0, 5, 2, 0, 2]
    assert found[2].timestamp == found[4].timestamp == 9_000


@pytest.mark.needs("kafka")
def test_topic_lives_with_kafka_python(python_admin: Any, kafka_broker: Broker) -> None:
    python_admin.create_topics({"life": {"num_partitions": 2, "replication_factor": 1}})
    python_admin.create_partitions({"life": 3})
    (topic,) = python_admin.describe_topics(["life"])
    assert len(topic["partitions"]) == 3
    python_admin.delete_topics(["life"])
    assert "life" not in kafka_broker.topics()


# --- aiokafka --------------------------------------------------------------------------------------------


@pytest.mark.needs("aiokafka")
def test_topic_lives_with_aiokafka(kafka_broker: Broker) -> None:
    from aiokafka import TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete

    async def live() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
        await admin.start()
        try:
            await admin.create_topics([NewTopic("life", 2, 1)])
            await admin.create_partitions({"life": NewPartitions(3)})
            (topic,) = await admin.describe_topics(["life"])
            assert len(topic["partitions"]) == 3
            with RawClient(kafka_broker.port) as client:
                produce(client, "life", batch(b"a", b"b"))
            deleted = await admin.delete_records({TopicPartition("life", 0): RecordsToDelete(1)})
            assert deleted == {TopicPartition("life", 0): 1}
            await admin.delete_topics(["life"])
            assert "life" not in await admin.list_topics()
        finally:
            await admin.close()

    asyncio.run(asyncio.wait_for(live(), PATIENCE))


@pytest.mark.needs("aiokafka")
def test_configuration_with_aiokafka(kafka_broker: Broker, kafka_topic: str, admin: Any) -> None:
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

    async def change() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
        await client.start()
        try:
            configs = {"retention.ms": "5000", "max.message.bytes": "7000"}
            await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, kafka_topic, configs)])
            only = {"retention.ms": "6000"}
            await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, kafka_topic, only)])
        finally:
            await client.close()

    asyncio.run(asyncio.wait_for(change(), PATIENCE))
    described = _config(admin, kafka_topic)
    # AlterConfigs replaces all: what is not named returns to its default.
    assert (described["retention.ms"].value, described["max.message.bytes"].value) == ("6000", "1048588")
