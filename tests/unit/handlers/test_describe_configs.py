import logging
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
DYNAMIC_TOPIC, STATIC_BROKER, DEFAULT, LOGGER = 1, 4, 5, 6


def ask(node: Node, kind: int, name: str, *keys: str, version: int = 4, **body: Any) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys or None}
    (result,) = node.ask("DescribeConfigs", version, resources=[resource], **body).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def values(result: Any) -> dict[str, str | None]:
    assert result.error_code is ErrorCode.none, result.error_message
    return {each.name: each.value for each in result.configs}


@pytest.mark.parametrize("version", range(1, 5))
def test_topic_with_its_own_values_and_the_broker_s(start_node: StartNode, version: int) -> None:
    node = start_node({"log.segment.bytes": "2097152"})
    node.create_topic("t", retention_ms="1000")

    result = ask(node, TOPIC, "t", version=version)

    sources = {each.name: each.config_source for each in result.configs}
    found = values(result)
    assert (found["retention.ms"], sources["retention.ms"]) == ("1000", DYNAMIC_TOPIC)
    assert (found["segment.bytes"], sources["segment.bytes"]) == ("2097152", STATIC_BROKER)
    assert (found["cleanup.policy"], sources["cleanup.policy"]) == ("delete", DEFAULT)
    assert not any(each.read_only or each.is_sensitive or each.synonyms for each in result.configs)


def test_synonyms_in_order_of_precedence(start_node: StartNode) -> None:
    node = start_node({"log.segment.bytes": "2097152"})
    node.create_topic("t", segment_bytes="1048576")

    (config,) = ask(node, TOPIC, "t", "segment.bytes", include_synonyms=True).configs

    assert [(each.name, each.value, each.source) for each in config.synonyms] == [
        ("segment.bytes", "1048576", DYNAMIC_TOPIC),
        ("log.segment.bytes", "2097152", STATIC_BROKER),
        ("log.segment.bytes", "1073741824", DEFAULT),
    ]


def test_types_and_documentation(node: Node) -> None:
    node.create_topic("t")

    (config,) = ask(node, TOPIC, "t", "segment.bytes", include_documentation=True).configs
    (silent,) = ask(node, TOPIC, "t", "segment.bytes").configs

    assert config.config_type == 3
    assert config.documentation
    assert silent.documentation is None


def test_only_requested_keys(node: Node) -> None:
    node.create_topic("t")

    assert values(ask(node, TOPIC, "t", "retention.ms", "no.such.key")) == {"retention.ms": "604800000"}


def test_broker_describes_itself_with_secrets_hidden(start_node: StartNode) -> None:
    node = start_node({"ssl.key.password": "geheim", "num.partitions": "3"})

    result = ask(node, BROKER, "0", include_synonyms=True)

    configs = {each.name: each for each in result.configs}
    assert (configs["num.partitions"].value, configs["num.partitions"].config_source) == ("3", STATIC_BROKER)
    assert configs["ssl.key.password"].is_sensitive
    assert configs["ssl.key.password"].value is None
    assert "geheim" not in str(result)
    assert configs["log.dirs"].read_only
    assert not configs["log.retention.ms"].read_only


def test_empty_name_describes_the_cluster_s_defaults(node: Node) -> None:
    assert values(ask(node, BROKER, "")) == {}
    node.settings.replace(node.config.with_dynamic({}, {"log.retention.ms": "5000"}))

    assert values(ask(node, BROKER, "")) == {"log.retention.ms": "5000"}


def test_group_need_not_exist(node: Node) -> None:
    found = values(ask(node, GROUP, "g"))

    assert found["consumer.session.timeout.ms"] == "45000"


def test_loggers_and_their_levels(node: Node) -> None:
    logging.getLogger("barnabas.test.one").setLevel(logging.WARNING)
    logging.getLogger("barnabas.test.one.child").setLevel(logging.NOTSET)

    result = ask(node, BROKER_LOGGER, "0")

    found = values(result)
    assert (found["barnabas.test.one"], found["barnabas.test.one.child"]) == ("WARN", "WARN")
    assert "root" in found
    assert {each.config_source for each in result.configs} == {LOGGER}
    assert values(ask(node, BROKER_LOGGER, "0", "root")).keys() == {"root"}


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "none", ErrorCode.unknown_topic_or_partition),
        (TOPIC, "bad name", ErrorCode.invalid_topic_exception),
        (BROKER, "1", ErrorCode.invalid_request),
        (BROKER, "me", ErrorCode.invalid_request),
        (BROKER_LOGGER, "1", ErrorCode.invalid_request),
        (BROKER_LOGGER, "", ErrorCode.invalid_request),
        (GROUP, "", ErrorCode.invalid_request),
        (CLIENT_METRICS, "m", ErrorCode.invalid_request),
        (99, "x", ErrorCode.invalid_request),
    ],
)
def test_what_cannot_be_described(node: Node, kind: int, name: str, error: ErrorCode) -> None:
    result = ask(node, kind, name)

    assert (result.error_code, result.configs) == (error, ())
    assert result.error_message
