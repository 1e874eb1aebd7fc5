from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8


def resource(kind: int, name: str, **configs: str | None) -> dict[str, Any]:
    entries = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    return {"resource_type": kind, "resource_name": name, "configs": entries}


def ask(node: Node, *resources: dict[str, Any], version: int = 2, **body: Any) -> list[ErrorCode]:
    responses = node.ask("AlterConfigs", version, resources=resources, **body).responses
    assert [(each.resource_type, each.resource_name) for each in responses] == [
        (each["resource_type"], each["resource_name"]) for each in resources
    ]
    return [each.error_code for each in responses]


@pytest.mark.parametrize("version", range(3))
def test_whole_configuration_is_replaced(node: Node, version: int) -> None:
    node.create_topic("t", retention_ms="1000", segment_bytes="1048576")

    assert ask(node, resource(TOPIC, "t", retention_ms="2000"), version=version) == [ErrorCode.none]
    assert node.image.topic_configs["t"] == {"retention.ms": "2000"}


def test_validate_only_changes_nothing(node: Node) -> None:
    node.create_topic("t", retention_ms="1000")

    assert ask(node, resource(TOPIC, "t", retention_ms="2000"), validate_only=True) == [ErrorCode.none]
    assert ask(node, resource(TOPIC, "t", retention_ms="soon"), validate_only=True) == [
        ErrorCode.invalid_config
    ]
    assert node.image.topic_configs["t"] == {"retention.ms": "1000"}


def test_bad_resource_does_not_spoil_the_others(node: Node) -> None:
    node.create_topic("t")

    codes = ask(
        node,
        resource(TOPIC, "none", retention_ms="1"),
        resource(TOPIC, "t", retention_ms="2000"),
        resource(BROKER, "5"),
        resource(BROKER_LOGGER, "0", root="INFO"),
    )

    assert codes == [
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.none,
        ErrorCode.invalid_request,
        ErrorCode.invalid_request,
    ]
    assert node.image.topic_configs["t"] == {"retention.ms": "2000"}


def test_resource_given_twice_is_refused(node: Node) -> None:
    node.create_topic("t")

    codes = ask(node, resource(TOPIC, "t", retention_ms="1"), resource(TOPIC, "t", retention_ms="2"))

    assert codes == [ErrorCode.invalid_request] * 2
    assert not node.image.topic_configs.get("t")
