"""DescribeConfigs against what Apache Kafka 4.3 says of itself (tests/golden)."""

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.broker_keys import BROKER_KEYS
from barnabas.base.config.describe import (
    ConfigSource,
    DescribedConfig,
    Synonym,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from barnabas.base.config.documentation import Scope, documentation_of
from barnabas.base.config.group_keys import GROUP_KEYS
from barnabas.base.config.keys import ConfigType
from barnabas.base.config.topic_keys import TOPIC_KEYS

GOLDEN = Path(__file__).parents[3] / "golden" / "apache-kafka-4.3" / "configs.json"
KAFKA: dict[str, dict[str, dict[str, Any]]] = json.loads(GOLDEN.read_text())
EMPTY = BrokerConfig.from_properties({})


def broker(config: BrokerConfig) -> dict[str, DescribedConfig]:
    return {described.name: described for described in config.describe()}


def topic(overrides: dict[str, str], config: BrokerConfig = EMPTY) -> dict[str, DescribedConfig]:
    return {described.name: described for described in describe_topic(overrides, config)}


def group(overrides: dict[str, str], config: BrokerConfig = EMPTY) -> dict[str, DescribedConfig]:
    return {described.name: described for described in describe_group(overrides, config)}


def assert_as_kafka(described: DescribedConfig, kafka: dict[str, Any]) -> None:
    kind = described.type.name.lower() if described.type else 0
    assert kind == kafka["type"], described.name
    assert described.read_only == kafka["read_only"], described.name
    assert described.sensitive == kafka["sensitive"], described.name
    if described.name not in ("node.id", "broker.id"):  # Kafka demands them; here they are 0 when not set
        assert described.value == kafka["default"], described.name


def test_broker_is_described_as_kafka_describes_it() -> None:
    described = broker(EMPTY)
    own = {"barnabas.accept.data.loss", "barnabas.metadata.store.path"}
    assert described.keys() - KAFKA["broker"].keys() == own
    for name, kafka in KAFKA["broker"].items():
        assert_as_kafka(described[name], kafka)


def test_topic_is_described_as_kafka_describes_it() -> None:
    described = topic({})
    assert described.keys() == KAFKA["topic"].keys()
    for name, kafka in KAFKA["topic"].items():
        assert_as_kafka(described[name], kafka)
        assert [synonym.name for synonym in described[name].synonyms] == kafka.get("broker_synonym", [])
        assert described[name].source is ConfigSource.DEFAULT_CONFIG


def test_group_is_described_as_kafka_describes_it() -> None:
    described = group({})
    assert described.keys() == KAFKA["group"].keys()
    for name, kafka in KAFKA["group"].items():
        assert_as_kafka(described[name], kafka)
        assert described[name].is_default


def test_synonyms_list_every_source_that_sets_a_broker_key() -> None:
    config = BrokerConfig.from_properties({"message.max.bytes": "1"}).with_dynamic(
        {"message.max.bytes": "3"}, {"message.max.bytes": "2"}
    )
    described = broker(config)["message.max.bytes"]
    assert described.value == "3"
    assert described.source is ConfigSource.DYNAMIC_BROKER_CONFIG
    assert described.synonyms == (
        Synonym("message.max.bytes", "3", ConfigSource.DYNAMIC_BROKER_CONFIG),
        Synonym("message.max.bytes", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        Synonym("message.max.bytes", "1", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("message.max.bytes", "1048588", ConfigSource.DEFAULT_CONFIG),
    )


def test_topic_value_shows_the_broker_keys_behind_it() -> None:
    config = BrokerConfig.from_properties({"log.retention.ms": "10", "log.retention.hours": "2"})
    described = topic({"retention.ms": "5"}, config)["retention.ms"]
    assert described.value == "5"
    assert described.source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert described.synonyms == (
        Synonym("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        Synonym("log.retention.ms", "10", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("log.retention.hours", "2", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    )


def test_value_that_comes_from_another_unit_has_no_synonyms() -> None:
    described = topic({}, BrokerConfig.from_properties({"log.retention.hours": "2"}))["retention.ms"]
    assert described.value == "7200000"
    assert described.synonyms == ()
    assert described.source is ConfigSource.DEFAULT_CONFIG


def test_group_value_shows_the_broker_key_behind_it() -> None:
    config = BrokerConfig.from_properties({"group.consumer.session.timeout.ms": "46000"})
    described = group({"consumer.session.timeout.ms": "47000"}, config)["consumer.session.timeout.ms"]
    assert described.value == "47000"
    assert described.source is ConfigSource.GROUP_CONFIG
    assert [synonym.value for synonym in described.synonyms] == ["47000", "46000", "45000"]
    own = group({})["share.isolation.level"]
    assert own.synonyms == (
        Synonym("share.isolation.level", "read_uncommitted", ConfigSource.DEFAULT_CONFIG),
    )


def test_secrets_and_unknown_keys_are_null() -> None:
    config = BrokerConfig.from_properties({"ssl.key.password": "hunter2", "key.of.a.plugin": "hunter3"})
    described = broker(config)
    for name in ("ssl.key.password", "key.of.a.plugin"):
        assert described[name].sensitive
        assert described[name].value is None
        assert described[name].synonyms == (Synonym(name, None, ConfigSource.STATIC_BROKER_CONFIG),)
    assert described["key.of.a.plugin"].type is ConfigType.UNKNOWN


def test_hidden_key_is_described_once_it_is_set() -> None:
    assert "zookeeper.connect" not in broker(EMPTY)
    described = broker(BrokerConfig.from_properties({"zookeeper.connect": "zk:2181"}))["zookeeper.connect"]
    assert described.value == "zk:2181"
    assert "internal.segment.bytes" not in topic({})
    assert topic({"internal.segment.bytes": "100"})["internal.segment.bytes"].value == "100"


def test_listener_override_is_described_with_the_key_it_overrides() -> None:
    name = "listener.name.plaintext.ssl.protocol"
    described = broker(BrokerConfig.from_properties({name: "TLSv1.2"}))[name]
    assert described.value == "TLSv1.2"
    assert described.synonyms[1] == Synonym("ssl.protocol", "TLSv1.3", ConfigSource.DEFAULT_CONFIG)
    assert described.doc == documentation_of(Scope.BROKER, "ssl.protocol")


def test_products_are_described_as_their_value() -> None:
    described = broker(BrokerConfig.from_properties({"log.roll.hours": "24*7"}))["log.roll.hours"]
    assert described.synonyms[0] == Synonym("log.roll.hours", "168", ConfigSource.STATIC_BROKER_CONFIG)


def test_cluster_defaults_are_only_what_was_set_for_all_brokers() -> None:
    config = EMPTY.with_dynamic({"log.retention.ms": "1"}, {"message.max.bytes": "2"})
    (described,) = describe_cluster_defaults(config)
    assert described.name == "message.max.bytes"
    assert described.synonyms == (
        Synonym("message.max.bytes", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
    )
    assert not described.read_only


@pytest.mark.parametrize(
    ("scope", "names"),
    [(Scope.BROKER, BROKER_KEYS), (Scope.TOPIC, TOPIC_KEYS), (Scope.GROUP, GROUP_KEYS)],
)
def test_every_key_is_explained(scope: Scope, names: dict[str, object]) -> None:
    for name in names:
        sentence = documentation_of(scope, name)
        assert sentence is not None, name
        assert sentence.endswith("."), name
        assert len(sentence) > 20, name
