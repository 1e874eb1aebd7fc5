import logging
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def resource(kind: int, name: str, *changes: tuple[str, int, str | None]) -> dict[str, Any]:
    entries = [
        {"name": key, "config_operation": operation, "value": value} for key, operation, value in changes
    ]
    return {"resource_type": kind, "resource_name": name, "configs": entries}


def ask(node: Node, *resources: dict[str, Any], version: int = 1, **body: Any) -> list[ErrorCode]:
    responses = node.ask("IncrementalAlterConfigs", version, resources=resources, **body).responses
    assert [(each.resource_type, each.resource_name) for each in responses] == [
        (each["resource_type"], each["resource_name"]) for each in resources
    ]
    assert all(bool(each.error_message) == bool(each.error_code) for each in responses)
    return [each.error_code for each in responses]


@pytest.mark.parametrize("version", [0, 1])
def test_single_keys_are_set_and_deleted(node: Node, version: int) -> None:
    node.create_topic("t", retention_ms="1000", segment_bytes="1048576")

    changes = (("retention.ms", DELETE, None), ("flush.ms", SET, "7"))
    assert ask(node, resource(TOPIC, "t", *changes), version=version) == [ErrorCode.none]
    assert node.image.topic_configs["t"] == {"segment.bytes": "1048576", "flush.ms": "7"}


def test_lists_are_appended_to_and_subtracted_from(node: Node) -> None:
    node.create_topic("t")

    assert ask(node, resource(TOPIC, "t", ("cleanup.policy", APPEND, "compact"))) == [ErrorCode.none]
    assert node.image.topic_configs["t"] == {"cleanup.policy": "delete,compact"}
    assert ask(node, resource(TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))) == [ErrorCode.none]
    assert node.image.topic_configs["t"] == {"cleanup.policy": "compact"}


def test_validate_only_changes_nothing(node: Node) -> None:
    node.create_topic("t")

    assert ask(node, resource(TOPIC, "t", ("flush.ms", SET, "7")), validate_only=True) == [ErrorCode.none]
    assert not node.image.topic_configs.get("t")


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (resource(TOPIC, "t", ("flush.ms", SET, "x")), ErrorCode.invalid_config),
        (resource(TOPIC, "t", ("flush.ms", SET, None)), ErrorCode.invalid_request),
        (resource(TOPIC, "t", ("flush.ms", APPEND, "1")), ErrorCode.invalid_config),
        (resource(TOPIC, "t", ("flush.ms", 9, "1")), ErrorCode.invalid_request),
        (resource(TOPIC, "t", ("flush.ms", SET, "1"), ("flush.ms", SET, "2")), ErrorCode.invalid_request),
        (resource(TOPIC, "none", ("flush.ms", SET, "1")), ErrorCode.unknown_topic_or_partition),
        (resource(BROKER, "1", ("log.retention.ms", SET, "1")), ErrorCode.invalid_request),
        (resource(CLIENT_METRICS, "m", ("interval.ms", SET, "1")), ErrorCode.invalid_request),
        (resource(77, "x"), ErrorCode.invalid_request),
    ],
)
def test_what_is_not_allowed_is_refused(node: Node, changed: dict[str, Any], error: ErrorCode) -> None:
    node.create_topic("t")

    assert ask(node, changed) == [error]


def test_brokers_and_groups(node: Node) -> None:
    codes = ask(
        node,
        resource(BROKER, "0", ("log.retention.ms", SET, "5000")),
        resource(BROKER, "", ("log.retention.ms", SET, "6000")),
        resource(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
    )

    assert codes == [ErrorCode.none] * 3
    assert node.image.broker_configs == {"0": {"log.retention.ms": "5000"}, "": {"log.retention.ms": "6000"}}
    assert node.image.group_configs == {"g": {"consumer.session.timeout.ms": "50000"}}


# --- loggers -----------------------------------------------------------------------------------------------


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("barnabas.test.altered")
    yield logger
    logger.setLevel(logging.NOTSET)


def test_level_of_a_logger_is_set_and_deleted(node: Node, logger: logging.Logger) -> None:
    assert ask(node, resource(BROKER_LOGGER, "0", (logger.name, SET, "ERROR"))) == [ErrorCode.none]
    assert logger.level == logging.ERROR
    assert ask(node, resource(BROKER_LOGGER, "0", (logger.name, DELETE, "ERROR"))) == [ErrorCode.none]
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("broker", "change", "error"),
    [
        ("1", ("barnabas.test.altered", SET, "INFO"), ErrorCode.invalid_request),
        ("0", ("barnabas.test.altered", SET, "LOUD"), ErrorCode.invalid_config),
        ("0", ("barnabas.test.altered", APPEND, "INFO"), ErrorCode.invalid_request),
        ("0", ("no.such.logger", SET, "INFO"), ErrorCode.invalid_config),
        ("0", ("root", DELETE, None), ErrorCode.invalid_request),
    ],
)
def test_bad_level_changes_no_logger(
    node: Node, logger: logging.Logger, broker: str, change: tuple[str, int, str | None], error: ErrorCode
) -> None:
    good = (logger.name + ".other", SET, "ERROR")
    other = logging.getLogger(good[0])

    assert ask(node, resource(BROKER_LOGGER, broker, good, change)) == [error]
    assert (logger.level, other.level) == (logging.NOTSET, logging.NOTSET)


def test_loggers_validated_only_or_given_twice_stay_as_they_are(node: Node, logger: logging.Logger) -> None:
    wanted = resource(BROKER_LOGGER, "0", (logger.name, SET, "ERROR"))

    assert ask(node, wanted, validate_only=True) == [ErrorCode.none]
    assert ask(node, wanted, wanted) == [ErrorCode.invalid_request] * 2
    assert logger.level == logging.NOTSET


def test_answers_come_in_the_order_of_the_resources(node: Node, logger: logging.Logger) -> None:
    node.create_topic("t")

    codes = ask(
        node,
        resource(BROKER_LOGGER, "0", (logger.name, SET, "LOUD")),
        resource(TOPIC, "t", ("flush.ms", SET, "7")),
        resource(BROKER_LOGGER, "1"),
        resource(TOPIC, "none"),
    )

    assert codes == [
        ErrorCode.invalid_config,
        ErrorCode.none,
        ErrorCode.invalid_request,
        ErrorCode.unknown_topic_or_partition,
    ]
