import json

import pytest
from tests.unit.controller.members import Connect

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import ErrorCode
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.requests import (
    ConfigAlteration,
    ConfigOperation,
    ConfigReplacement,
    ConfigResult,
    NewTopic,
    ResourceType,
)
from barnabas.controller.topics import TopicAdmin
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.store import StoreError

TOPIC, BROKER, GROUP = int(ResourceType.TOPIC), int(ResourceType.BROKER), int(ResourceType.GROUP)
SET, DELETE, APPEND, SUBTRACT = (int(operation) for operation in ConfigOperation)


@pytest.fixture(autouse=True)
def topic(admin: TopicAdmin) -> None:
    admin.create_topics([NewTopic("t", configs={"retention.ms": "7", "segment.ms": "8"})])


def replace(configs: ConfigAdmin, kind: int, name: str, **values: str | None) -> ConfigResult:
    entries = tuple((key.replace("_", "."), value) for key, value in values.items())
    (result,) = configs.alter([ConfigReplacement(kind, name, entries)])
    return result


def change(configs: ConfigAdmin, kind: int, name: str, *entries: tuple[str, int, str | None]) -> ConfigResult:
    (result,) = configs.alter([ConfigAlteration(kind, name, entries)])
    return result


def test_alter_replaces_everything(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    result = replace(configs, TOPIC, "t", retention_ms="9", cleanup_policy="compact")
    assert result == ConfigResult(TOPIC, "t")
    assert cluster.image.topic_configs["t"] == {"retention.ms": "9", "cleanup.policy": "compact"}
    stored = json.loads(cluster.store.get("/config/topics/t")[0])
    assert stored == {"version": 1, "config": {"retention.ms": "9", "cleanup.policy": "compact"}}
    replace(configs, TOPIC, "t")
    assert cluster.image.topic_configs == {}


def test_incremental_set_and_delete_keep_the_rest(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    result = change(configs, TOPIC, "t", ("retention.ms", DELETE, None), ("flush.ms", SET, "5"))
    assert result.error is ErrorCode.none
    assert cluster.image.topic_configs["t"] == {"segment.ms": "8", "flush.ms": "5"}


def test_append_and_subtract_on_lists(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    def policy() -> str:
        return cluster.image.topic_configs["t"]["cleanup.policy"]

    change(configs, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert policy() == "delete,compact"
    change(configs, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert policy() == "delete,compact"
    change(configs, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))
    assert policy() == "compact"


def test_broker_configs_of_one_and_of_all(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    assert change(configs, BROKER, "0", ("message.max.bytes", SET, "2000")).error is ErrorCode.none
    assert change(configs, BROKER, "", ("message.max.bytes", SET, "3000")).error is ErrorCode.none
    assert cluster.image.broker_configs == {
        "0": {"message.max.bytes": "2000"},
        "": {"message.max.bytes": "3000"},
    }
    assert cluster.store.children("/config/brokers") == ["0", "<default>"]
    change(configs, BROKER, "0", ("message.max.bytes", DELETE, None))
    assert cluster.store.children("/config/brokers") == ["<default>"]


def test_group_configs(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    entry = ("consumer.session.timeout.ms", SET, "50000")
    assert change(configs, GROUP, "my/group", entry).error is ErrorCode.none
    assert cluster.image.group_configs == {"my/group": {"consumer.session.timeout.ms": "50000"}}
    assert cluster.store.exists("/config/groups/my%2Fgroup") is not None


@pytest.mark.parametrize(
    ("kind", "name", "entry", "error", "message"),
    [
        (TOPIC, "t", ("retention.ms", SET, "x"), "invalid_config", "retention.ms"),
        (TOPIC, "t", ("nonsense", SET, "x"), "invalid_config", "Unknown topic config name: nonsense"),
        (TOPIC, "t", ("retention.ms", SET, None), "invalid_request", "Null value not supported for : ret"),
        (
            TOPIC,
            "t",
            ("retention.ms", APPEND, "1"),
            "invalid_config",
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (TOPIC, "t", ("retention.ms", 9, "1"), "invalid_request", "Unknown operations type 9"),
        (TOPIC, "t", ("cleanup.policy", SET, "x" * 40000), "invalid_config", "maximum value size of 32767"),
        (TOPIC, "u", ("flush.ms", SET, "1"), "unknown_topic_or_partition", "The topic 'u' does not exist."),
        (TOPIC, "", ("flush.ms", SET, "1"), "invalid_request", "Default topic resources are not allowed."),
        (TOPIC, "a b", ("flush.ms", SET, "1"), "invalid_topic_exception", "Topic name is invalid"),
        (BROKER, "x", ("a", SET, "1"), "invalid_request", "Node id must be an integer, but it is: x"),
        (BROKER, "1", ("a", SET, "1"), "invalid_request", "Unexpected broker id, expected 0, but received 1"),
        (BROKER, "0", ("message.max.bytes", SET, "-1"), "invalid_request", "message.max.bytes"),
        (BROKER, "0", ("node.id", SET, "1"), "invalid_request", "Cannot update these configs dynamically"),
        (BROKER, "", ("message.max.bytes", APPEND, "1"), "invalid_config", "append is not allowed"),
        (BROKER, "", ("nonsense", SUBTRACT, "1"), "invalid_config", "Unknown config name: nonsense"),
        (GROUP, "", ("a", SET, "1"), "invalid_request", "Default group resources are not allowed."),
        (GROUP, "g", ("nonsense", SET, "1"), "invalid_config", "nonsense"),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "1"), "invalid_config", "at least"),
        (16, "m", ("a", SET, "1"), "invalid_request", "Client metrics"),
        (8, "0", ("a", SET, "1"), "invalid_request", "Unknown resource type 8"),
        (99, "0", ("a", SET, "1"), "invalid_request", "Unknown resource type 99"),
    ],
)
def test_refused_changes(
    configs: ConfigAdmin,
    cluster: ClusterMetadata,
    kind: int,
    name: str,
    entry: tuple[str, int, str | None],
    error: str,
    message: str,
) -> None:
    before = cluster.store.subtree("/config")
    result = change(configs, kind, name, entry)
    assert (result.resource_type, result.resource_name) == (kind, name)
    assert result.error.name == error
    assert message in (result.message or "")
    assert cluster.store.subtree("/config") == before


def test_duplicate_keys_and_resources_are_refused(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    twice = change(configs, TOPIC, "t", ("flush.ms", SET, "1"), ("flush.ms", SET, "2"))
    assert (twice.error, twice.message) == (ErrorCode.invalid_request, "Error due to duplicate config keys")
    request = ConfigReplacement(TOPIC, "t", (("flush.ms", "1"),))
    results = configs.alter([request, ConfigReplacement(BROKER, "", ()), request])
    assert [result.error.name for result in results] == ["invalid_request", "none", "invalid_request"]
    assert results[0].message == "Each resource must appear at most once."
    assert "flush.ms" not in cluster.image.topic_configs["t"]


def test_one_bad_resource_does_not_spoil_the_others(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    results = configs.alter(
        [
            ConfigAlteration(TOPIC, "missing", (("flush.ms", SET, "1"),)),
            ConfigAlteration(TOPIC, "t", (("flush.ms", SET, "1"),)),
        ]
    )
    assert [result.error.name for result in results] == ["unknown_topic_or_partition", "none"]
    assert cluster.image.topic_configs["t"]["flush.ms"] == "1"


def test_validate_only_writes_nothing(configs: ConfigAdmin, cluster: ClusterMetadata) -> None:
    before = cluster.image
    requests = [
        ConfigAlteration(TOPIC, "t", (("flush.ms", SET, "1"),)),
        ConfigAlteration(TOPIC, "u", (("flush.ms", SET, "1"),)),
    ]
    results = configs.alter(requests, validate_only=True)
    assert [result.error.name for result in results] == ["none", "unknown_topic_or_partition"]
    assert cluster.image == before


def test_change_of_another_broker_is_not_overwritten(
    connect: Connect, configs: ConfigAdmin, settings: BrokerConfig, cluster: ClusterMetadata
) -> None:
    other = connect()
    other.close()  # It no longer receives changes.
    change(configs, TOPIC, "t", ("flush.ms", SET, "1"))
    change(ConfigAdmin(other, settings), TOPIC, "t", ("flush.messages", SET, "2"))
    cluster.refresh(["/config/topics/t"])
    assert cluster.image.topic_configs["t"] == {
        "retention.ms": "7",
        "segment.ms": "8",
        "flush.ms": "1",
        "flush.messages": "2",
    }


def test_failing_store_is_an_error_in_the_results(
    configs: ConfigAdmin, cluster: ClusterMetadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(cluster.store, "transaction", fail)
    result = change(configs, TOPIC, "t", ("flush.ms", SET, "1"))
    assert (result.error, result.message) == (ErrorCode.kafka_storage_error, "the disk is full")
